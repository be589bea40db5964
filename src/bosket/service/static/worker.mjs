// Lets the page of a study open without a line.  Its files are kept, by names of their own, and asked for only where the
// network fails: no address of a study, token, answer, report or task is kept here, and nothing but these files is
// answered.
const KEPT = "bosket-page-1";
const PAGE = "/static/page.html"; // one for all studies
const FILES = [PAGE, "/static/page.mjs", "/static/bosket.mjs", "/static/show.mjs", "/static/page.css", "/static/icon.svg"];

self.addEventListener("install", (event) => {
	const fill = async () => (await caches.open(KEPT)).addAll(FILES.map((file) => new Request(file, { cache: "reload" })));
	event.waitUntil(fill().then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
	const tidy = async () => {
		for (const name of await caches.keys()) if (name.startsWith("bosket-page-") && name !== KEPT) await caches.delete(name);
	};
	event.waitUntil(tidy().then(() => self.clients.claim()));
});

// Without the address that it came from, which for a page is that of a study.
async function keep(kept, file, found) {
	const { status, headers } = found;
	await kept.put(file, new Response(await found.blob(), { status, headers }));
}

// The network first, so that what is kept is never older than the last visit with a line.
async function answer(request, file) {
	const kept = await caches.open(KEPT);
	try {
		const found = await fetch(request);
		if (found.ok && found.type === "basic") await keep(kept, file, found.clone()).catch(() => null);
		return found;
	} catch (problem) {
		const known = await kept.match(file);
		if (known === undefined) throw problem;
		return known;
	}
}

self.addEventListener("fetch", (event) => {
	const { request } = event;
	const url = new URL(request.url);
	if (request.method !== "GET" || url.origin !== self.location.origin || url.search !== "") return;
	if (request.mode === "navigate" && /^\/t\/[a-z0-9-]+$/.test(url.pathname)) event.respondWith(answer(request, PAGE));
	else if (FILES.includes(url.pathname)) event.respondWith(answer(request, url.pathname));
});
