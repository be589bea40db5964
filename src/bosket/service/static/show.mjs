// What a frame says, for the person whom it is about: the very bits that leave, and what they mean.
import { BosketError, attributesOf, frame } from "./bosket.mjs";

const refuse = (sentence) => {
	throw new BosketError(sentence);
};

// One frame of the plan, made by this client or another, taken apart; other bytes are refused.
export function readFrame(plan, bytes) {
	const at = bytes.length - 4 - plan.width;
	if (at < 12) refuse("This is not one frame of the plan.");
	const payload = bytes.slice(at, -4);
	const again = frame(plan, payload, bytes[2] & 1);
	if (again.length !== bytes.length || !again.every((byte, i) => byte === bytes[i])) {
		refuse("This is not one frame of the plan, or its check is wrong.");
	}
	const view = new DataView(payload.buffer);
	const { name, by } = plan.value.mechanism;
	const found = { payload, isSimulated: bytes[2] === 1 };
	if (name === "ask") return { ...found, question: view.getInt32(0, true), answer: view.getInt32(4, true) };
	if (name === "ask_baskets" && by !== "subset") return { ...found, answer: view.getInt32(by === "hashing" ? 8 : 0, true) };
	const n = name === "ask_baskets" ? 8 * payload.length : plan.domain.size;
	const shown = [];
	for (let i = 0; i < n; i++) if ((payload[i >> 3] >> (i & 7)) & 1) shown.push(i);
	const hasSize = name !== "ask_baskets" && payload.length > Math.ceil(n / 8);
	return { ...found, shown, size: hasSize ? view.getInt32(payload.length - 4, true) : null };
}

export const labelText = (label) =>
	label !== null && typeof label === "object" ? label.tuple.map(labelText).join(", ") : String(label);

function keyText(plan, key) {
	const { candidates } = plan.value.mechanism;
	if (candidates) return key < candidates.length ? candidates[key].map(labelText).join(" + ") : "nothing (a filler)";
	return key < plan.domain.size ? labelText(plan.domain.items.labels[key]) : "nothing (a filler)";
}

const pairText = (name, value) => `${name}${/[?!.:]$/.test(name) ? "" : ":"} ${labelText(value)}`;

// What an answer to a question says: a value of each attribute, or a group of answers.
function answerLines(plan, question, answer) {
	const names = attributesOf(plan, question);
	const both = names.join(" and ");
	if (plan.mechanism.questions[question].isHashed) return [`${both}: group ${answer} of a scrambling that the report names`];
	const { merged } = plan.value.mechanism.design.questions[question];
	if (merged) return [`${both}: group ${answer} of the possible answers`];
	const parts = [];
	for (const name of [...names].reverse()) {
		const one = plan.domain.attributes.find((attribute) => attribute.name === name);
		parts.unshift(pairText(name, one.values.labels[answer % one.size]));
		answer = Math.floor(answer / one.size);
	}
	return parts;
}

// The size that a report states: no coin has changed it, unless the plan says so of sizes from a limit on.
function sizeText(plan, size) {
	const { stated, longer, limit, mechanism } = plan;
	if (stated?.sizeRatio && size >= stated.limit) return `size of the record: ${size}`;
	const isFewer = stated && !mechanism.sendsSizes && size === stated.limit;
	const isMore = !stated && longer === "sample" && size === limit;
	return `size of the record: ${size}${isFewer ? " or fewer" : isMore ? " or more" : ""}, sent just as it is`;
}

// What the collector will read, in words: a sentence, and lines.
export function inWords(plan, bytes) {
	const found = readFrame(plan, bytes);
	const { name, by } = plan.value.mechanism;
	if (name === "ask") return { said: "Your report says:", lines: answerLines(plan, found.question, found.answer) };
	if (name === "ask_baskets" && by === "hashing") {
		return { said: "Your report names a scrambling and one group of it:", lines: [`group ${found.answer}`] };
	}
	if (name === "ask_baskets" && by === "response") return { said: "Your report says:", lines: [keyText(plan, found.answer)] };
	const label = (i) => {
		if (name === "ask_baskets") return keyText(plan, i);
		if (plan.domain.items) return labelText(plan.domain.items.labels[i]);
		const one = plan.domain.attributes.findLast((attribute) => attribute.start <= i);
		return pairText(one.name, one.values.labels[i - one.start]);
	};
	const lines = found.shown.map(label);
	if (found.size !== null) lines.push(sizeText(plan, found.size));
	return { said: found.shown.length ? "Your report claims these:" : "Your report claims nothing at all.", lines };
}
