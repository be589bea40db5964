// Sends for the tests: jobs come as JSON on standard input, and what became of each goes out, in their order.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const bosket = await import(pathToFileURL(process.argv[2]));
const answers = [];
for (const { url, report, options } of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    answers.push(await bosket.send(url, Uint8Array.from(Buffer.from(report, "hex")), options));
  } catch (problem) {
    const { id, status, isFinal, message } = problem;
    answers.push({ id, status, isFinal, message, isOurs: problem instanceof bosket.BosketError });
  }
}
process.stdout.write(JSON.stringify(answers));
