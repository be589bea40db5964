/** What went wrong, in a sentence; never what is in a record. */
export class BosketError extends Error {
	/** Of `send`: the id under which it may be sent again. */
	id?: string;
	/** Of `send`: what the collector answered; null where it could not be reached, or acknowledged nothing. */
	status?: number | null;
	/** Of `send`: whether sending it again is of no use. */
	isFinal?: boolean;
}

/** A label as plans write it; a tuple stands as an object. */
export type Label = string | number | boolean | { tuple: Label[] };
/** A list of items, or of a table an object from attribute to value. */
export type BosketRecord = Label[] | { [attribute: string]: Label };

export interface Plan {
	/** The JSON text of the plan, whose SHA-256 is its digest. */
	readonly text: string;
	readonly value: any;
	readonly digest: Uint8Array;
	/** Bytes of a payload. */
	readonly width: number;
	/** Reports that one person may send. */
	readonly reports: number;
	readonly domain: any;
	readonly mechanism: any;
}

/** What a collector signed. */
export interface Task {
	version: 1;
	task: string;
	title: string;
	plan_text: string;
	digest: string;
	period: string | null;
	participant: string[];
	card: string;
	[field: string]: unknown;
}

export interface Memo {
	/** 32 random bytes or more, kept on the device. */
	secret: Uint8Array;
	/** For how long answers stay the same: what the task says. */
	period?: string | null;
}

export interface RandomizeOptions {
	/** For a plan of questions: the one that `drawQuestion` gave, with a record of its attributes alone. */
	question?: number;
	/** The same record gives the same report. */
	memo?: Memo;
	/** For tests: words of 64 bits, a list for each stream; the report then says that it is a simulation. */
	words?: bigint[][];
}

export interface SendOptions {
	/** 32 hexadecimal digits; drawn unless given. */
	id?: string;
	/** A token that lets its holder submit. */
	token?: string;
	/** A one-time token of the person. */
	once?: string;
	/** Attempts in all: 4. */
	tries?: number;
	/** Milliseconds before the second attempt: 500, doubled each time; longer where the collector says so. */
	wait?: number;
	/** Milliseconds that one attempt may take, from the first byte that is sent to the last of the answer: 30 000. */
	timeout?: number;
}

export function readPlan(text: string): Promise<Plan>;
export function randomize(plan: Plan | string, record: BosketRecord, options?: RandomizeOptions): Promise<Uint8Array>;
export function drawQuestion(plan: Plan): number;
export function attributesOf(plan: Plan, question: number): string[];
/** Check a task document by the study's public key, in base64, its plan by the digest, and that it is the task `name`:
 * the owner of the key may have signed others, with weaker plans. */
export function verify(
	document: { signed: string; signature: string; key: string },
	key: string,
	name?: string,
): Promise<{ task: Task; plan: Plan }>;
export function newId(): string;
/** Rejects with a `BosketError` that has the id, unless the collector acknowledged the reports. */
export function send(url: string, bytes: Uint8Array, options?: SendOptions): Promise<{ accepted: number; id: string }>;
export function concat(parts: ArrayLike<number>[]): Uint8Array;
/** A payload with its head and check; flag 1 says that it is a simulation. */
export function frame(plan: Plan, payload: Uint8Array, flags: 0 | 1): Uint8Array;
