// The page of a study: asks what the plan needs, randomizes here, shows what leaves, and sends it when there is a line.
import { attributesOf, drawQuestion, newId, randomize, send, verify } from "./bosket.mjs";
import { inWords, labelText } from "./show.mjs";

const $ = (id) => document.getElementById(id);
const task = decodeURIComponent(location.pathname.split("/").filter(Boolean).pop() ?? "");
const address = `/v1/tasks/${encodeURIComponent(task)}`;
const FEW = 12; // items that are listed without a search

// --- what this device remembers: the key, the question, the secret, and a report that is not sent yet

const name = (what) => `bosket.${what}.${task}`;
const memory = new Map(); // where the browser keeps nothing, as in some private windows: until the page is closed
const remembered = (what) => {
	try {
		return memory.get(what) ?? localStorage.getItem(name(what));
	} catch {
		return null;
	}
};
const remember = (what, text) => {
	memory.delete(what);
	try {
		if (text === null) localStorage.removeItem(name(what));
		else localStorage.setItem(name(what), text);
	} catch {
		if (text !== null) memory.set(what, text);
	}
};
const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

function secret() {
	const known = remembered("secret");
	if (known !== null && /^[0-9a-f]{64}$/.test(known)) return fromHex(known);
	const made = crypto.getRandomValues(new Uint8Array(32));
	remember("secret", toHex(made));
	return made;
}

// --- the study

async function load() {
	let text = null;
	try {
		const answer = await fetch(address, { credentials: "omit", cache: "no-store" });
		if (answer.ok) text = await answer.text();
		else if (answer.status === 404) throw new Error("There is no such study here.");
		else if (answer.status === 410) throw new Error("This study is closed.");
	} catch (problem) {
		if (!(problem instanceof TypeError)) throw problem;
	}
	const signed = JSON.parse(text ?? remembered("document") ?? "null");
	if (signed === null) throw new Error("The study could not be loaded. Please try again when you are online.");
	const known = remembered("key");
	if (known !== null && known !== signed.key) {
		throw new Error("This study is signed by another key than before. Ask the people who run it; nothing was sent.");
	}
	const found = await verify(signed, signed.key, task);
	remember("key", signed.key);
	if (text !== null) remember("document", text);
	return { ...found, key: signed.key, isFresh: text !== null };
}

// Coins are those of a period: a page that stayed open, or that opened without a line, may have the last one's.
async function checkPeriod(said) {
	if (said.periods == null || periodAt(said.periods, Date.now()) === periodAt(said.periods, Date.parse(said.periods.name))) return;
	const { task: now, isFresh } = await load();
	if (!isFresh) throw new Error("The period that this page is of seems to be over. Please try again when you are online.");
	if (now.periods?.name === said.periods.name) return; // the clock of this device is off
	location.reload();
	throw new Error("A new period has begun: the page is loaded again.");
}

// The number of the period of a time, from 0 on.
function periodAt({ first, every }, time) {
	const [from, at] = [new Date(first), new Date(time)];
	if (every !== "month") return Math.floor((at - from) / 86_400_000 / (every === "week" ? 7 : 1));
	const months = 12 * (at.getUTCFullYear() - from.getUTCFullYear()) + at.getUTCMonth() - from.getUTCMonth();
	return months - (at.getUTCDate() < from.getUTCDate() ? 1 : 0);
}

function element(kind, attributes = {}, ...children) {
	const made = document.createElement(kind);
	for (const [key, value] of Object.entries(attributes)) {
		if (key === "text") made.textContent = value;
		else made.setAttribute(key, value);
	}
	made.append(...children);
	return made;
}

function choice(kind, group, value, label) {
	return element("label", { class: "choice" }, element("input", { type: kind, name: group, value }), element("span", { text: label }));
}

// --- baskets: a list to tick, with a search where it is long

function basket(plan) {
	const { candidates } = plan.value.mechanism;
	const asked = candidates && new Set(candidates.flat().map((label) => JSON.stringify(label)));
	const labels = plan.domain.items.labels;
	const numbers = labels.map((_, at) => at).filter((at) => !asked || asked.has(JSON.stringify(labels[at])));
	const most = plan.longer === "refuse" ? plan.limit : (plan.stated?.longest ?? null);
	const picked = element("p", { class: "picked", role: "status" });
	const list = element("div", { class: "choices" }, ...numbers.map((at) => choice("checkbox", "item", at, labelText(labels[at]))));
	const rows = [...list.children].map((row) => [row, row.textContent.toLocaleLowerCase()]);
	const count = () => list.querySelectorAll("input:checked").length;
	const tell = () => {
		const n = count();
		const shown = rows.filter(([row]) => !row.hidden).length;
		const among = shown === rows.length ? "" : `, ${shown} of ${rows.length} shown`;
		const room = most === null || most >= rows.length ? "" : `, at most ${most}`;
		picked.textContent = `${n === 0 ? "Nothing" : n} ticked${room}${among}.`;
	};
	const set = element("fieldset", {}, element("legend", { text: "Tick all that is true of you, or nothing" }));
	if (rows.length > FEW) {
		const search = element("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false" });
		search.addEventListener("input", () => {
			const wanted = search.value.trim().toLocaleLowerCase();
			for (const [row, text] of rows) row.hidden = !text.includes(wanted);
			tell();
		});
		search.addEventListener("keydown", (event) => {
			if (event.key === "Enter") event.preventDefault();
		});
		set.append(element("div", { class: "search" }, element("label", { for: "search", text: "Search the list" }), search));
		list.classList.add("list");
	}
	set.append(list, picked);
	list.addEventListener("change", tell);
	tell();
	return {
		parts: [set],
		why: asked ? "The study asks about these only." : "",
		read() {
			if (most !== null && count() > most) throw new Error(`Please tick at most ${most}.`);
			return { record: [...list.querySelectorAll("input:checked")].map((one) => labels[Number(one.value)]) };
		},
	};
}

// --- tables: a questionnaire; of a design, only the question that was drawn for this person

function questionnaire(plan) {
	let question;
	let names = plan.domain.attributes.map((one) => one.name);
	if (plan.mechanism.questions) {
		const mine = `question.${toHex(plan.digest.subarray(0, 8))}`; // another phase has other questions
		const known = remembered(mine);
		question = known !== null && /^\d+$/.test(known) ? Number(known) : drawQuestion(plan);
		if (question >= plan.mechanism.questions.length) question = drawQuestion(plan);
		remember(mine, String(question)); // whoever loads the page again is asked the same
		names = attributesOf(plan, question);
	}
	const sets = names.map((attribute, at) => {
		const one = plan.domain.attributes.find((known) => known.name === attribute);
		const choices = one.values.labels.map((value, place) => choice("radio", `q${at}`, place, labelText(value)));
		return { one, set: element("fieldset", {}, element("legend", { text: attribute }), element("div", { class: "choices" }, ...choices)) };
	});
	const total = plan.domain.attributes.length;
	return {
		parts: sets.map(({ set }) => set),
		why:
			question === undefined
				? ""
				: `Chance picked ${names.length === 1 ? "this one question" : `these ${names.length} questions`} for you, before you answered; the study has ${total}.`,
		read() {
			const record = {};
			for (const { one, set } of sets) {
				const ticked = set.querySelector("input:checked");
				set.classList.toggle("wrong-field", ticked === null);
				if (ticked === null) {
					set.querySelector("input").focus();
					throw new Error(`Please choose an answer to “${one.name}”.`);
				}
				record[one.name] = one.values.labels[Number(ticked.value)];
			}
			return { record, question };
		},
	};
}

// --- what leaves

const state = (text, isWrong = false) => {
	$("state").textContent = text;
	$("state").classList.toggle("wrong", isWrong);
};

function display(plan, report) {
	const { said, lines } = inWords(plan, report);
	$("meaning-said").textContent = said;
	$("meaning").replaceChildren(...lines.map((line) => element("li", { text: line })));
	$("bytes").textContent = toHex(report).replace(/(..)(?=.)/g, "$1 ");
	const payload = report.slice(report.length - 4 - plan.width, -4);
	$("bits").textContent = Array.from(payload, (byte) => [...byte.toString(2).padStart(8, "0")].reverse().join("")).join(" ");
}

function thank(text, title = "Thank you") {
	$("answers").hidden = true;
	$("thanks-title").textContent = title;
	$("thanks-text").textContent = text;
	$("thanks").hidden = false;
	$("thanks").focus();
}

// How many reports arrived, and digests of those that left, arrived or not: a person sends no more than the plan counts,
// whatever the collector answers.  The same report may leave again, which tells nothing more.
// In a study of periods so many arrive in each, and never more leave than the plan counts in all: other answers after a
// refusal take of what later periods allow.
const arrived = () => Number(remembered("sent") ?? 0);
const arrivedIn = (period) => Number(remembered(`sent.${period}`) ?? 0);
const isFull = (said, plan) =>
	arrived() >= plan.reports || (said.periods != null && arrivedIn(said.periods.name) >= said.periods.reports);
const left = () => JSON.parse(remembered("left") ?? "[]");

// Who has the secret of a device and a digest of a report can try all answers.  So digests of what arrived become words
// of chance, which only count, and the secret goes once nothing more may leave.
function forget(plan) {
	remember("left", JSON.stringify(left().map(newId)));
	if (arrived() >= plan.reports) remember("secret", null);
}

async function spend(said, plan, bytes) {
	const digest = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
	// From here on nothing is waited for: another tab of the study may have sent a report meanwhile.
	if (remembered("waiting") !== null) throw new Error("A report of yours waits to be sent already.");
	const known = left();
	const isNew = !known.includes(digest);
	if (isFull(said, plan) || (isNew && known.length >= plan.reports)) {
		throw new Error("Other answers of yours have left this device already, and more would tell more of you than is promised.");
	}
	if (isNew) remember("left", JSON.stringify([...known, digest]));
}

// Tokens come in the fragment of the address, which browsers send to nobody.
function tokens() {
	const given = new URLSearchParams(location.hash.slice(1));
	return { once: given.get("token") ?? undefined, token: given.get("submit") ?? undefined };
}

async function post(plan, waiting) {
	const { report, period, ...options } = waiting;
	try {
		await send(`${address}/reports`, fromHex(report), { ...options, tries: 3 });
	} catch (problem) {
		if (problem.isFinal) {
			remember("waiting", null);
			const forgets = memory.has("left") ? " Please do not load the page to answer anew: this browser does not keep what has left it, and another report would tell more of you than is promised." : "";
			state(`The study did not take the report: ${problem.message}${forgets}`, true);
			$("send").disabled = false;
			return;
		}
		const until = memory.has("waiting") ? "waits while this page is open" : "waits on this device";
		state(`You seem to be offline. The report ${until} and goes out when you are back.`);
		$("send").disabled = true;
		return;
	}
	remember("waiting", null);
	remember("sent", String(arrived() + 1));
	if (period != null) remember(`sent.${period}`, String(arrivedIn(period) + 1));
	forget(plan);
	thank("Your report has arrived. You can close this page.");
}

// Without a change of the fragment, which may hold a token; a link with another token is a page of its own.
document.querySelector(".skip").addEventListener("click", (event) => {
	event.preventDefault();
	$("answers").focus();
});
addEventListener("hashchange", () => {
	if (Object.values(tokens()).some((one) => one !== undefined)) location.reload();
});

async function start() {
	const { task: said, plan, key } = await load();
	document.title = said.title;
	$("title").textContent = said.title;
	$("promise").replaceChildren(...said.participant.map((sentence) => element("li", { text: sentence })));
	$("card").textContent = said.card;
	$("key").textContent = key;
	$("study").hidden = false;
	if (said.closes !== null && Date.parse(said.closes) <= Date.now()) return thank("This study is closed.", "It is over");
	const asked = plan.domain.items ? basket(plan) : questionnaire(plan);
	$("questions").replaceChildren(...asked.parts);
	$("why").textContent = asked.why;
	$("why").hidden = asked.why === "";

	let made = null; // the one report of these answers: looking at it throws no new coins
	const report = async () => {
		const answers = asked.read();
		const text = JSON.stringify([answers.record, answers.question ?? null]);
		if (made?.text === text) return made.report;
		const memo = { secret: secret(), period: said.period };
		made = { text, report: await randomize(plan, answers.record, { question: answers.question, memo }) };
		return made.report;
	};
	const guarded = (act) => async (event) => {
		event.preventDefault();
		try {
			await act();
		} catch (problem) {
			state(problem.message, true);
		}
	};
	const hide = () => {
		$("leaves").hidden = true;
		$("show").setAttribute("aria-expanded", "false");
		$("show").textContent = "Show me what leaves";
	};
	$("answers").addEventListener("change", () => {
		hide();
		state("");
	});
	$("show").addEventListener("click", guarded(async () => {
		if (!$("leaves").hidden) return hide();
		display(plan, await report());
		state("");
		$("leaves").hidden = false;
		$("show").setAttribute("aria-expanded", "true");
		$("show").textContent = "Hide what leaves";
		$("leaves").focus();
	}));
	$("answers").addEventListener("submit", guarded(async () => {
		if ($("send").disabled) return; // pressed twice: one report, one id
		$("send").disabled = true;
		let bytes;
		try {
			await checkPeriod(said);
			bytes = await report();
			await spend(said, plan, bytes);
		} catch (problem) {
			$("send").disabled = false;
			throw problem;
		}
		state("Sending…");
		const waiting = { id: newId(), report: toHex(bytes), period: said.periods?.name, ...tokens() };
		remember("waiting", JSON.stringify(waiting));
		display(plan, bytes);
		await post(plan, waiting);
	}));
	const flush = async () => {
		const waiting = remembered("waiting");
		if (waiting !== null) await post(plan, JSON.parse(waiting));
	};
	addEventListener("online", flush);
	if (remembered("waiting") !== null) {
		$("send").disabled = true;
		state("A report of yours waits to be sent.");
		await flush();
	} else if (said.periods != null && said.periods.name === null) {
		thank("No period of this study is open at present. Please come back later.", "Not now");
	} else if (isFull(said, plan)) {
		forget(plan);
		const times = (number) => (number === 1 ? "once" : `at most ${number} times`);
		const often = said.periods == null ? times(plan.reports) : `${times(said.periods.reports)} in each ${said.periods.every}`;
		thank(`You have taken part already from this device. Each person counts ${often}.`);
	} else if (said.tokens === "one-time" && tokens().once === undefined) {
		$("send").disabled = true;
		state("To send a report, open the page by the link that you were given: each person has one of their own.");
	}
}

// So that the page itself opens without a line: a worker that keeps its files, and nothing else.
navigator.serviceWorker?.register("/t/worker.mjs", { scope: "/t/", updateViaCache: "none" }).catch(() => null);

start().catch((problem) => {
	$("title").textContent = "This study cannot be shown";
	$("trouble").textContent =
		crypto.subtle === undefined
			? "This page must be opened over a secure connection (https), so that your browser can add chance to your answers."
			: problem.message;
	$("trouble").hidden = false;
});
