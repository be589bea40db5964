-- A ledger of version 1, as bosket 0.1.0 made it before entries could be returned: the dump of SQLite's shell, and its two
-- numbers in the header of the file.  Made by Budget.create(path, "data", epsilon=1.0, delta=1e-6) and two calls of spend.
PRAGMA application_id = 1651471211;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE budgets (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, epsilon TEXT, delta TEXT, neighbours TEXT, time TEXT, version TEXT, digest TEXT, UNIQUE (name));
INSERT INTO "budgets" VALUES(1,'data','1.0','1e-06','add-remove','2026-11-16T11:31+00:00','0.1.0','629f2a1b7cb8f2c45ccfe3ff6806b122b209068242a9238847ff57bcafc2922c');
CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, budget INTEGER REFERENCES budgets (id), number INTEGER, epsilon TEXT, delta TEXT, purpose TEXT, time TEXT, version TEXT, digest TEXT, UNIQUE (budget, number));
INSERT INTO "entries" VALUES(1,1,1,'0.1','0.0','top 10 pairs','2026-11-16T11:31+00:00','0.1.0','f8f85b84217160eb5f0a390749e212b35c5e9c88ad6d7d73b707da8451a1de54');
INSERT INTO "entries" VALUES(2,1,2,'0.2','1e-07','supports of “milk”','2026-11-16T11:31+00:00','0.1.0','4877544a90f5d3aeefb6221c7819de052c9c2e0bc2e8324db25bc27f36742b65');
CREATE TRIGGER budgets_no_update BEFORE UPDATE ON budgets BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER budgets_no_delete BEFORE DELETE ON budgets BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER budgets_no_replace BEFORE INSERT ON budgets WHEN EXISTS (SELECT 1 FROM budgets WHERE id = NEW.id OR name = NEW.name) BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER entries_no_replace BEFORE INSERT ON entries WHEN EXISTS (SELECT 1 FROM entries WHERE id = NEW.id OR (budget = NEW.budget AND number = NEW.number)) BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('budgets',1);
INSERT INTO "sqlite_sequence" VALUES('entries',2);
COMMIT;
