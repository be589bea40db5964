// bosket in a browser or in Node: a record is randomized where it is, and only the report leaves.  Chance comes from
// WebCrypto alone; a probability is a whole number of 2**-53.  Given the same random words, bytes are those of Python.

const ONE = 1n << 53n;
const FULL = 1n << 64n;
const MOST_ITEMS = 1 << 18;
const encoder = new TextEncoder();

export class BosketError extends Error {}

const refuse = (sentence) => {
	throw new BosketError(sentence);
};

// --- chance

let pool = [];
const fresh = { word: () => pool.pop() ?? (pool = [...crypto.getRandomValues(new BigUint64Array(64))]).pop() };
const secure = { stream: () => fresh };

class Short extends Error {}

// Known words; `Short` says which stream came to its end.
function played(streams) {
	let opened = 0;
	return {
		stream() {
			const number = opened++;
			let at = 0;
			return {
				word() {
					const words = streams[number];
					if (words === undefined || at >= words.length) throw Object.assign(new Short(), { number });
					return words[at++];
				},
			};
		},
	};
}

// Keystreams of AES-256 in counter mode: stream i begins at block i * 2**64.
async function keyed(key, draw) {
	const aes = await crypto.subtle.importKey("raw", key, "AES-CTR", false, ["encrypt"]);
	const streams = [];
	for (;;) {
		try {
			return draw(played(streams));
		} catch (problem) {
			if (!(problem instanceof Short)) throw problem;
			const length = 2 * (streams[problem.number]?.length ?? 128);
			const counter = new Uint8Array(16);
			new DataView(counter.buffer).setBigUint64(0, BigInt(problem.number));
			const bytes = await crypto.subtle.encrypt({ name: "AES-CTR", counter, length: 64 }, aes, new Uint8Array(8 * length));
			const view = new DataView(bytes);
			streams[problem.number] = Array.from({ length }, (_, at) => view.getBigUint64(8 * at, true));
		}
	}
}

// A uniform number in [0, period), without bias: words below `least` or from `limit` on are drawn again.
function uniform(period, stream, least = FULL % period, limit = FULL) {
	for (;;) {
		const word = stream.word();
		if (word >= least && word < limit) return word % period;
	}
}

const below = (bound, stream) => Number(uniform(BigInt(bound), stream));

// The same from its own stream, the highest words drawn again.
function integer(bound, source) {
	const period = BigInt(bound);
	return Number(uniform(period, source.stream(), 0n, FULL - (FULL % period)));
}

const coin = (stream) => stream.word() >> 11n;

const rank = (rising, value) => rising.filter((one) => one <= value).length;

const choose = (cumulative, source) => rank(cumulative, coin(source.stream()));

// The threshold of a probability: the nearest multiple of 2**-53, halves to even.
function threshold(probability) {
	const scaled = probability * 2 ** 53;
	const whole = Math.floor(scaled);
	const rest = scaled - whole;
	return whole + Number(rest > 0.5 || (rest === 0.5 && whole % 2 === 1));
}

// Flip bit i where 53 random bits are below whenSet(i) or whenClear(i); neighbours share words, the highest bits first,
// words of a level side by side for 128 * 64 items.
function flip(bits, whenSet, whenClear, source) {
	const stream = source.stream();
	for (let start = 0; start < bits.length; start += 8192) {
		const stop = Math.min(bits.length, start + 8192);
		const drawn = new Float64Array(stop - start); // whole numbers below 2**53: exact
		for (let level = 0; level < 54; level++) {
			for (let first = start; first < stop; first += 64) {
				const word = stream.word();
				if (level === 53) continue; // thresholds have no bit there
				const halves = [Number(word & 0xffffffffn), Number(word >> 32n)];
				for (let i = first; i < Math.min(stop, first + 64); i++) {
					const at = i - first;
					drawn[i - start] = 2 * drawn[i - start] + ((halves[at >> 5] >>> (at & 31)) & 1);
				}
			}
		}
		for (let i = start; i < stop; i++) {
			const limit = bits[i] ? whenSet(i) : whenClear(i);
			bits[i] ^= Number(drawn[i - start] < limit);
		}
	}
}

function keepSubset(bits, keep, source) {
	const stream = source.stream();
	let left = count(bits);
	let need = keep;
	for (let i = 0; i < bits.length; i++) {
		if (!bits[i]) continue;
		bits[i] = Number(below(left--, stream) < need);
		need -= bits[i];
	}
}

function insertOthers(bits, avoid, number, source) {
	const stream = source.stream();
	const taken = avoid.slice();
	for (let left = count(avoid); left > 0; ) {
		const at = below(bits.length, stream);
		if (taken[at]) continue;
		taken[at] = 1;
		left--;
		if (number-- > 0) bits[at] = 1;
	}
}

const count = (bits) => bits.reduce((sum, bit) => sum + bit, 0);

function fraction(number) {
	let below = 1n;
	while (!Number.isInteger(number)) {
		number *= 2;
		below *= 2n;
	}
	return [BigInt(number), below];
}

// floor(2**53 a / b), at most `most`.
const least = (a, b) => (a < b ? a : b);
const share = (a, b, most = ONE) => least((a * ONE) / b, most);

// e^epsilon or a trifle less, a fraction: 1 + (1 - 2**-50) times e^epsilon - 1 rounded to a double, in whole numbers.
function ratio(epsilon) {
	const places = 640n;
	const [a, b] = fraction(real(epsilon, "An epsilon", 2 ** -40, 600));
	const halvings = BigInt(Math.max(0, Math.ceil(Math.log2(epsilon)) + 2));
	const x = (a << places) / (b << halvings);
	let sum = 1n << places;
	for (let term = sum, k = 1n; term > 0n; k++) {
		term = ((term * x) >> places) / k;
		sum += term;
	}
	for (let k = 0n; k < halvings; k++) sum = (sum * sum) >> places;
	let excess = sum - (1n << places);
	const cut = BigInt(excess.toString(2).length - 53);
	const rest = excess & ((1n << cut) - 1n);
	excess >>= cut;
	if (rest > 1n << (cut - 1n)) excess += 1n;
	const unit = 1n << places;
	return [(unit << 50n) + (excess << cut) * ((1n << 50n) - 1n), unit << 50n];
}

function choices(n, k) {
	let ways = 1n;
	for (let i = 1; i <= k; i++) ways = (ways * BigInt(n - k + i)) / BigInt(i);
	return ways;
}

// Sums of the first probabilities in multiples of 2**-53, rounded to even.
function cumulative(law) {
	const parts = law.map(fraction);
	const finest = parts.reduce((most, [, b]) => (b > most ? b : most), 1n);
	const whole = parts.map(([a, b]) => a * (finest / b));
	const total = whole.reduce((sum, one) => sum + one, 0n);
	let sum = 0n;
	return whole.map((one) => {
		sum += one;
		const step = (sum << 53n) / total;
		const rest = (sum << 53n) % total;
		return step + BigInt(2n * rest > total || (2n * rest === total && step % 2n === 1n));
	});
}

// --- hash functions named by a seed: SipHash-1-3

const u64 = (word) => BigInt.asUintN(64, word);
const turned = (word, by) => u64((word << by) | (word >> (64n - by)));

function round([a, b, c, d]) {
	a = u64(a + b);
	c = u64(c + d);
	b = turned(b, 13n) ^ a;
	d = turned(d, 16n) ^ c;
	a = turned(a, 32n);
	c = u64(c + b);
	a = u64(a + d);
	b = turned(b, 17n) ^ c;
	d = turned(d, 21n) ^ a;
	return [a, b, turned(c, 32n), d];
}

function siphash(seed, number) {
	let v = [seed ^ 0x736f6d6570736575n, 0x646f72616e646f6dn, seed ^ 0x6c7967656e657261n, 0x7465646279746573n ^ number];
	v = round(v);
	v[0] ^= number;
	v[3] ^= 8n << 56n;
	v = round(v);
	v[0] ^= 8n << 56n;
	v[2] ^= 0xffn;
	v = round(round(round(v)));
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

const bucketOf = (seed, key, buckets) =>
	Number((siphash(seed, BigInt(key >> 2)) >> BigInt(16 * (key & 3))) & BigInt(buckets - 1));

// --- plans

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function fields(value, of, required, optional = "") {
	[required, optional] = [required.split(" "), optional.split(" ")];
	if (!isObject(value)) refuse(`${of} must be an object.`);
	for (const name of required) if (!Object.hasOwn(value, name)) refuse(`${of} lacks '${name}'.`);
	for (const name of Object.keys(value)) {
		if (!required.includes(name) && !optional.includes(name)) refuse(`${of} has an unknown field.`);
	}
	return value;
}

const whole = (value, of, least, most = 2 ** 53 - 1) =>
	Number.isInteger(value) && value >= least && value <= most ? value : refuse(`${of} must be a whole number.`);
const real = (value, of, least, most) =>
	typeof value === "number" && value >= least && value <= most ? value : refuse(`${of} must lie from ${least} to ${most}.`);
const probability = (value) => real(value, "A probability", 0, 1);

class Places {
	constructor(labels, of) {
		this.labels = labels;
		this.index = new Map(labels.map((label, at) => [JSON.stringify(label), at]));
		if (this.index.size < labels.length) refuse(`${of} has labels that are alike here.`);
	}

	at(label, of) {
		return this.index.get(JSON.stringify(label)) ?? refuse(`${of} is none of the plan.`);
	}
}

function readDomain(value) {
	if (value?.kind === "items") {
		fields(value, "A domain", "kind items declared");
		const items = new Places(value.items, "The domain");
		return { items, size: items.labels.length, attributes: null };
	}
	if (value?.kind !== "table") refuse("A domain is items or a table.");
	fields(value, "A domain", "kind attributes declared");
	let start = 0;
	const attributes = value.attributes.map((one) => {
		fields(one, "An attribute", "name values");
		const size = one.values.length;
		if (size < 2) refuse("An attribute has two values or more.");
		start += size;
		return { name: one.name, values: new Places(one.values, "An attribute"), size, start: start - size };
	});
	const names = new Places(attributes.map((one) => one.name), "The table");
	return { attributes, names, size: start };
}

function bySize(value, check) {
	if (!Array.isArray(value)) {
		const one = check(value);
		return { at: () => one, sizes: null };
	}
	const known = new Map(value.map(([size, one]) => [whole(size, "A record size", 0), check(one)]));
	return { at: (size) => known.get(size) ?? refuse("A size lacks a parameter."), sizes: [...known.keys()] };
}

function packedBits(bits, ...stratum) {
	const bytes = new Uint8Array(Math.ceil(bits.length / 8));
	bits.forEach((bit, i) => (bytes[i >> 3] |= bit << (i & 7)));
	return concat([bytes, numbers(...stratum)]);
}

// Little-endian: numbers in four bytes, BigInts in eight.
function numbers(...parts) {
	return concat(parts.map((part) => {
		const view = new DataView(new ArrayBuffer(typeof part === "number" ? 4 : 8));
		if (typeof part === "number") view.setInt32(0, part, true);
		else view.setBigUint64(0, part, true);
		return new Uint8Array(view.buffer);
	}));
}

// Mechanisms by name.  Each gives change(bits, source), where a report is bits, or tell(bits, source, question) with the
// width of a payload; `sizes` of records that it takes; `sendsSizes` where a report states the true one.
const MECHANISMS = {
	flip(value, domain) {
		fields(value, "Flip", "name keep keep_absent default");
		const perItem = (given, otherwise) => {
			if (typeof given === "number") return new Array(domain.size).fill(probability(given));
			const found = otherwise.slice();
			const places = domain.items ?? itemNames(domain);
			for (const [label, one] of fields(given, "A keep of Flip", "items").items) {
				found[places.at(label, "An item of Flip")] = probability(one);
			}
			return found.map(probability);
		};
		const keep = perItem(value.keep, new Array(domain.size).fill(value.default));
		const absent = value.keep_absent === null ? keep : perItem(value.keep_absent, keep);
		const [lose, insert] = [keep, absent].map((row) => row.map((one) => threshold(1 - one)));
		return { change: (bits, source) => flip(bits, (i) => lose[i], (i) => insert[i], source) };
	},

	cut_and_paste(value) {
		fields(value, "CutAndPaste", "name cutoff insert");
		const cutoff = bySize(value.cutoff, (one) => whole(one, "A cutoff", 1));
		const rho = bySize(value.insert, (one) => threshold(probability(one)));
		return {
			sizes: cutoff.sizes ?? rho.sizes,
			sendsSizes: true,
			change(bits, source) {
				const size = count(bits);
				keepSubset(bits, Math.min(integer(cutoff.at(size) + 1, source), size), source);
				flip(bits, () => 0, () => rho.at(size), source);
			},
		};
	},

	select_a_size(value) {
		fields(value, "SelectASize", "name kept insert");
		const kept = bySize(value.kept, (law) => cumulative(law.map(probability)));
		const rho = bySize(value.insert, (one) => threshold(probability(one)));
		return {
			sizes: kept.sizes,
			sendsSizes: true,
			change(bits, source) {
				const [truth, stays, size] = [bits.slice(), bits.slice(), count(bits)];
				keepSubset(stays, choose(kept.at(size), source), source);
				flip(bits, () => 0, () => rho.at(size), source);
				for (let i = 0; i < bits.length; i++) bits[i] &= ~(truth[i] ^ stays[i]);
			},
		};
	},

	replace(value, domain) {
		fields(value, "Replace", "name probability");
		const lose = threshold(probability(value.probability));
		return {
			sizes: [...Array(Math.floor(domain.size / 2) + 1).keys()],
			sendsSizes: true,
			change(bits, source) {
				const truth = bits.slice();
				flip(bits, () => lose, () => 0, source);
				insertOthers(bits, truth, count(truth) - count(bits), source);
			},
		};
	},

	gamma_diagonal(value, domain) {
		fields(value, "GammaDiagonal", "name gamma spread");
		const table = domain.attributes ?? refuse("GammaDiagonal is for tables.");
		const cells = table.reduce((product, one) => product * BigInt(one.size), 1n);
		const [a, b] = fraction(real(value.gamma, "A gamma", 1, 2 ** 1000));
		const [c, d] = fraction(probability(value.spread));
		const isOther = value.spread > 0;
		const limit = share(isOther ? a : a - b, a + (cells - 1n) * b, ONE - 1n);
		const reach = least((limit * c) / d, ONE - limit);
		return {
			change(bits, source) {
				const stream = source.stream();
				const thrown = coin(stream);
				const moved = reach > 0n ? uniform(2n * reach + 1n, stream) - reach : 0n;
				let drawn;
				do {
					drawn = new Uint8Array(bits.length);
					for (const one of table) drawn[one.start + below(one.size, stream)] = 1;
				} while (isOther && drawn.every((bit, i) => bit === bits[i]));
				if (thrown >= limit + moved) bits.set(drawn);
			},
		};
	},

	ask(value, domain) {
		fields(value, "Ask", "name design gamma", "channel");
		if (!domain.attributes) refuse("Ask is for tables.");
		const design = fields(value.design, "A design", "questions", "shares follows");
		const gamma = fraction(real(value.gamma, "A gamma", 1, 2 ** 1000));
		const asked = design.questions.map((one) => readQuestion(one, domain, gamma, value.channel ?? "response"));
		const shares = design.shares ?? asked.map(() => 1);
		let sum = 0;
		const drawn = shares.map((one) => (sum += whole(one, "A share", 1)));
		if (drawn.length !== asked.length) refuse("A design has a share for each question.");
		const hashes = asked.some((one) => one.isHashed);
		const draw = (stream) => rank(drawn, below(sum, stream));
		return {
			width: hashes ? 16 : 8,
			questions: asked,
			draw: (source) => draw(source.stream()),
			tell(bits, source, question) {
				const stream = source.stream();
				const mine = draw(stream);
				const q = question ?? mine;
				const thrown = coin(stream);
				const seed = hashes ? stream.word() : 0n;
				const one = asked[q];
				let other = below(one.values - Number(one.isHashed), stream);
				const at = one.place(bits);
				let truth = one.merged?.[at] ?? at;
				if (one.isHashed) {
					truth = bucketOf(seed, truth, one.values);
					other += Number(other >= truth);
				}
				const answer = thrown < one.limit ? truth : other;
				return hashes ? numbers(q, answer, one.isHashed ? seed : 0n) : numbers(q, answer);
			},
		};
	},

	ask_baskets(value, domain) {
		fields(value, "AskBaskets", "name epsilon length by size candidates follows");
		const items = domain.items ?? refuse("AskBaskets is for baskets.");
		const sets = value.candidates?.map((one) => one.map((label) => items.at(label, "A candidate"))) ?? null;
		const keys = sets === null ? domain.size : sets.length;
		const length = Math.min(whole(value.length, "A length", 1), keys);
		const gamma = ratio(value.epsilon);
		const kept = (bits, stream) => heldKeys(bits, sets, length, stream);
		if (value.by === "subset") return subsetSelection(keys, length, whole(value.size, "A size", 1, keys), gamma, kept);
		const isHashed = value.by === "hashing";
		if (!isHashed && value.by !== "response") refuse("AskBaskets does not tell so.");
		const values = isHashed ? whole(value.size, "A size", length + 1, 65536) : keys + length;
		if (isHashed && values & (values - 1)) refuse("Buckets must be a power of two.");
		const limit = share(gamma[0], gamma[0] * BigInt(length) + gamma[1] * BigInt(values - length));
		return {
			width: isHashed ? 12 : 4,
			tell(bits, source) {
				const stream = source.stream();
				const held = kept(bits, stream);
				const seed = stream.word();
				const thrown = coin(stream);
				const own = rising(isHashed ? held.map((key) => bucketOf(seed, key, values)) : padded(held, keys, length));
				let other = below(values - own.length, stream);
				for (const one of own) other += Number(other >= one);
				const part = Number(thrown / limit);
				const answer = part < own.length ? own[part] : other;
				return isHashed ? numbers(seed, answer) : numbers(answer);
			},
		};
	},
};

const itemNames = ({ attributes }) =>
	new Places(attributes.flatMap((one) => one.values.labels.map((value) => `${one.name}=${value}`)), "The table");
const rising = (values) => [...new Set(values)].sort((a, b) => a - b);
const padded = (held, keys, length) =>
	held.concat(Array.from({ length: length - held.length }, (_, dummy) => keys + dummy));

// At most `length` of the keys of a record: reservoir sampling.
function heldKeys(bits, sets, length, stream) {
	const kept = [];
	let number = 0;
	for (let key = 0; key < (sets ?? bits).length; key++) {
		if (!(sets === null ? bits[key] : sets[key].every((item) => bits[item]))) continue;
		const place = number >= length ? below(number + 1, stream) : number;
		if (place < length) kept[place] = key;
		number++;
	}
	return kept;
}

// Floyd's algorithm: `chosen` of `number` values, those of `avoid`, which rise, left out.
function drawSubset(set, number, chosen, avoid, stream) {
	const moved = (value) => avoid.reduce((at, one) => at + Number(at >= one), value);
	for (let j = number - chosen; j < number; j++) {
		const value = moved(below(j + 1, stream));
		set.add(set.has(value) ? moved(j) : value);
	}
}

function subsetSelection(keys, length, chosen, gamma, kept) {
	const values = keys + length;
	if (values > 4096) refuse("Subset selection takes at most 4096 items and dummies.");
	const misses = choices(keys, chosen);
	const weight = gamma[0] * (choices(values, chosen) - misses);
	const limit = share(weight, weight + misses * gamma[1]);
	return {
		width: Math.ceil(values / 8),
		tell(bits, source) {
			const stream = source.stream();
			const held = kept(bits, stream);
			const thrown = coin(stream);
			const own = rising(padded(held, keys, length));
			const without = new Set();
			drawSubset(without, keys, chosen, own, stream);
			let holding; // both are drawn, whatever the coin says
			do {
				const one = own[below(own.length, stream)];
				holding = new Set([one]);
				drawSubset(holding, values - 1, chosen - 1, [one], stream);
			} while (below(own.filter((value) => holding.has(value)).length, stream) !== 0);
			const told = new Uint8Array(values);
			for (const value of thrown < limit ? holding : without) told[value] = 1;
			return packedBits(told);
		},
	};
}

function readQuestion(value, domain, [a, b], channel) {
	fields(value, "A question", "attributes", "merged");
	const given = value.attributes.map((name) => domain.names.at(name, "An attribute of a question"));
	const sizes = given.map((at) => domain.attributes[at].size);
	const cells = sizes.reduce((product, size) => product * size, 1);
	const { merged } = value;
	if (cells > 65536 || (merged?.length ?? cells) !== cells) refuse("A question answers each combination.");
	const n = merged?.reduce((most, one) => Math.max(most, 1 + whole(one, "An answer", 0, cells - 1)), 0) ?? cells;
	if (n < 2) refuse("A question has two answers or more.");
	const variance = (g) => [(a + BigInt(g - 1) * b) ** 2n, b * b * BigInt(g - 1)];
	let [best, least] = [2, variance(2)];
	for (let g = 4; g <= 65536; g *= 2) {
		const found = variance(g);
		if (found[0] * least[1] < least[0] * found[1]) [best, least] = [g, found];
	}
	const isBetter = (a + BigInt(n - 2) * b) * least[1] > least[0] * b;
	if (!/^(auto|response|hashing)$/.test(channel)) refuse("Ask does not tell so.");
	const isHashed = channel === "hashing" || (channel === "auto" && isBetter);
	const values = isHashed ? best : n;
	const limit = isHashed
		? share(a, a + BigInt(values - 1) * b)
		: share(a - b, a + BigInt(n - 1) * b, ONE - 1n);
	const place = (bits) =>
		given.reduce((at, number, i) => at * sizes[i] + bits.subarray(domain.attributes[number].start).indexOf(1), 0);
	return { attributes: given, merged, values, limit, isHashed, place };
}

// A record's size, as it is or by randomized response.
function stateSize(plan, size, source) {
	const { limit, longest, sizeRatio } = plan.stated;
	let at = Math.max(size, limit) - limit;
	if (sizeRatio !== null) {
		const sizes = longest - limit + 1;
		const truth = share(sizeRatio[0], sizeRatio[0] + sizeRatio[1] * BigInt(sizes - 1));
		const isOther = choose([truth, ONE], source);
		const other = 1 + integer(sizes - 1, source);
		at = (at + isOther * other) % sizes;
	}
	return plan.mechanism.sendsSizes && size < limit ? size : at + limit;
}

export const readPlan = (text) =>
	read(text).catch((problem) => {
		throw problem instanceof BosketError ? problem : new BosketError("This is no plan.");
	});

async function read(text) {
	if (typeof text !== "string") refuse("A plan is JSON text.");
	const value = JSON.parse(text);
	fields(value, "A plan", "bosket_plan domain mechanism unit");
	if (value.bosket_plan !== 1) refuse("Plans have version 1.");
	const unit = fields(
		value.unit, "A unit", "max_size reports", "longer is_declared state_sizes_to size_epsilon",
	);
	const domain = readDomain(value.domain);
	if (domain.size < 1 || domain.size > MOST_ITEMS) refuse(`Plans here have 1 to ${MOST_ITEMS} items.`);
	const name = value.mechanism?.name;
	if (!Object.hasOwn(MECHANISMS, name)) refuse("Browsers lack this mechanism.");
	const mechanism = MECHANISMS[name](value.mechanism, domain);
	const longer = unit.longer ?? "refuse";
	if (longer !== "refuse" && longer !== "sample") refuse("Longer records are cut or refused.");
	const most = unit.max_size === null ? null : whole(unit.max_size, "A max_size", 1);
	const taken = mechanism.sizes?.filter((size) => most === null || size <= most);
	const limit = taken ? taken.reduce((a, b) => Math.max(a, b), -1) : most;
	let stated = null;
	if (unit.state_sizes_to !== undefined) {
		const longest = Math.min(whole(unit.state_sizes_to, "A size", 2), domain.size);
		const isCut = longer === "sample" && limit >= 1 && limit < longest;
		if (mechanism.tell || !isCut) refuse("No size can be stated.");
		stated = { limit, longest, sizeRatio: unit.size_epsilon === undefined ? null : ratio(unit.size_epsilon) };
	}
	const reports = whole(unit.reports, "Reports", 1);
	const hasStratum = mechanism.sendsSizes || stated !== null;
	const width = mechanism.width ?? Math.ceil(domain.size / 8) + (hasStratum ? 4 : 0);
	const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
	return Object.freeze({ text, value, domain, mechanism, limit, longer, stated, width, digest, reports });
}

function bitsOf(plan, record, attributes) {
	const bits = new Uint8Array(plan.domain.size);
	if (plan.domain.items) {
		if (!Array.isArray(record)) refuse("A record is a list of items.");
		for (const label of record) bits[plan.domain.items.at(label, "An item of the record")] = 1;
		return bits;
	}
	const asked = attributes ?? plan.domain.attributes.map((_, at) => at);
	if (!isObject(record) || Object.keys(record).length !== asked.length) refuse("A record has a value of each attribute.");
	for (const at of asked) {
		const one = plan.domain.attributes[at];
		if (!Object.hasOwn(record, one.name)) refuse("A record lacks an attribute.");
		bits[one.start + one.values.at(record[one.name], "A value of the record")] = 1;
	}
	return bits;
}

function draw(plan, truth, source, question) {
	const bits = truth.slice();
	const size = count(bits);
	const { mechanism, limit, stated } = plan;
	const most = stated?.longest ?? (plan.longer === "refuse" ? limit : null);
	if (most !== null && size > most) refuse(`A record has at most ${most} items.`);
	const isCut = plan.longer === "sample" && limit !== null;
	const within = isCut ? Math.min(size, limit) : size;
	if (mechanism.sizes && !mechanism.sizes.includes(within)) refuse("The mechanism takes no records of this size.");
	const stratum = stated ? [stateSize(plan, size, source)] : mechanism.sendsSizes ? [within] : [];
	if (isCut) keepSubset(bits, within, source);
	if (mechanism.tell) return mechanism.tell(bits, source, question);
	mechanism.change(bits, source);
	return packedBits(bits, ...stratum);
}

function crc32(bytes) {
	let check = -1;
	for (const byte of bytes) {
		check ^= byte;
		for (let bit = 0; bit < 8; bit++) check = (check >>> 1) ^ (check & 1 ? 0xedb88320 : 0);
	}
	return ~check;
}

export function concat(parts) {
	const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
	parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
	return bytes;
}

// With head and check; flag 1: a simulation.
export function frame(plan, payload, flags) {
	const start = [0x42, 1, flags];
	let width = plan.width;
	for (; width >= 128; width >>= 7) start.push((width & 127) | 128);
	const before = concat([[...start, width], plan.digest.subarray(0, 8), payload]);
	return concat([before, numbers(crc32(before))]);
}

// --- what people call

async function memoKey({ secret, period = null }, plan, bits, question) {
	if (!(secret instanceof Uint8Array) || secret.length < 32) refuse("A secret has 32 random bytes or more.");
	const said = encoder.encode(period ?? "");
	const parts = [encoder.encode("bosket-memo-v1\n"), plan.digest, numbers(said.length), said, packedBits(bits)];
	if (question !== undefined) parts.push(numbers(question));
	const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
	return new Uint8Array(await crypto.subtle.sign("HMAC", key, concat(parts)));
}

// Options: see bosket.d.ts; with `words`, for tests, the frame says it is a simulation.
export async function randomize(plan, record, { question, memo, words } = {}) {
	if (typeof plan === "string") plan = await readPlan(plan);
	const asked = question === undefined ? undefined : questionOf(plan, question).attributes;
	const bits = bitsOf(plan, record, asked);
	if (words !== undefined) return frame(plan, draw(plan, bits, played(words), question), 1);
	if (memo === undefined) return frame(plan, draw(plan, bits, secure, question), 0);
	const key = await memoKey(memo, plan, bits, question);
	return frame(plan, await keyed(key, (source) => draw(plan, bits, source, question)), 0);
}

function questionOf(plan, number) {
	return plan.mechanism.questions?.[number] ?? refuse("The plan has no such question.");
}

// For Ask: a person's question.
export function drawQuestion(plan) {
	if (!plan.mechanism.draw) refuse("The plan has no questions.");
	return plan.mechanism.draw(secure);
}

export const attributesOf = (plan, question) =>
	questionOf(plan, question).attributes.map((at) => plan.domain.attributes[at].name);

const base64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

// Know the key beforehand: the document's says nothing of who signed it.  `name`: of the task.
export async function verify(document, key, name) {
	const text = document?.signed;
	if (typeof text !== "string" || typeof key !== "string") refuse("A task has a signed text and a known key.");
	const known = await crypto.subtle.importKey("raw", base64(key), "Ed25519", false, ["verify"]);
	const said = encoder.encode(`bosket-task-v1\n${text}`);
	const isSound = await crypto.subtle.verify("Ed25519", known, base64(document.signature), said);
	if (!isSound) refuse("The task is not signed by the key.");
	const task = JSON.parse(text);
	if (task.version !== 1) refuse("Tasks have version 1.");
	if (task.task !== (name ?? task.task)) refuse("This is another task.");
	const plan = await readPlan(task.plan_text);
	if (hex(plan.digest) !== task.digest) refuse("The plan has another digest than was signed.");
	return { task, plan };
}

export const newId = () => hex(crypto.getRandomValues(new Uint8Array(16)));

// Sent again after faults: the collector counts an id once.
export async function send(url, body, { id = newId(), token, once, tries = 4, wait = 500, timeout = 30_000 } = {}) {
	const headers = { "Content-Type": "application/vnd.bosket.reports", "Idempotency-Key": id };
	if (token !== undefined) headers.Authorization = `Bearer ${token}`;
	if (once !== undefined) headers["Bosket-Token"] = once;
	const how = { method: "POST", headers, body, credentials: "omit", referrerPolicy: "no-referrer", redirect: "error" };
	for (; ; tries--, wait *= 2) {
		const answer = await fetch(url, { ...how, signal: AbortSignal.timeout(timeout) }).catch(() => null);
		const said = await answer?.json().catch(() => null);
		if (answer?.ok && Number.isInteger(said?.accepted) && said.accepted > 0) return { ...said, id };
		const status = answer && !answer.ok ? answer.status : null;
		const isFinal = status < 500 && ![null, 408, 429].includes(status);
		if (isFinal || tries <= 1) {
			const why = (status && (said?.detail ?? said?.title)) ?? "The collector could not be reached.";
			throw Object.assign(new BosketError(why), { id, status, isFinal });
		}
		const told = 1000 * Math.min(60, answer?.headers.get("Retry-After")) || 0;
		await new Promise((done) => setTimeout(done, Math.max(told, wait)));
	}
}
