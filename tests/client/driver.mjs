// Randomizes for the tests: jobs come as JSON on standard input, answers go out as JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const module = process.argv[2];
const bosket = await import(pathToFileURL(module));
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const bytes = (text) => Uint8Array.from(Buffer.from(text, "hex"));
const plans = new Map();
const answers = [];
for (const job of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    if (!plans.has(job.plan)) plans.set(job.plan, await bosket.readPlan(job.plan));
    const plan = plans.get(job.plan);
    const options = {};
    if (job.words && job.frame === undefined) options.words = job.words.map((stream) => stream.match(/.{16}/g).map((word) => BigInt(`0x${word}`)));
    if (job.memo) options.memo = { secret: bytes(job.memo.secret), period: job.memo.period };
    if (job.question !== undefined) options.question = job.question;
    if (job.frame !== undefined) {
      const { inWords, readFrame } = await import("../../src/bosket/service/static/show.mjs");
      if (job.words) {
        answers.push(inWords(plan, bytes(job.frame)));
        continue;
      }
      const found = readFrame(plan, bytes(job.frame));
      answers.push({ ...found, payload: hex(found.payload) });
      continue;
    }
    const frames = [];
    for (let i = 0; i < (job.times ?? 1); i++) frames.push(hex(await bosket.randomize(plan, job.record, options)));
    answers.push(job.times === undefined ? frames[0] : frames);
  } catch (problem) {
    if (!(problem instanceof bosket.BosketError)) throw problem;
    answers.push({ refused: problem.message });
  }
}
process.stdout.write(JSON.stringify(answers));
