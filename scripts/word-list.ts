/** A pattern that texts must not match, and what to write instead. */
export type Word = readonly [pattern: RegExp, instead: string]

/** A text in which a word is right: the end of the file's name, a part of the text, and the reason. */
export type Exception = readonly [file: string, part: string, reason: string]

/** Words and phrases that messages and documentation do not use. */
export const words: readonly Word[] = [
  [/\b(raw|translated) lanes?\b|\blanes?\b/i, 'passthrough, translation'],
  [/\bpivots?\b/i, 'canonical request, canonical events'],
  [/\b(journey|trip)s?\b(?! (of|over) packets)/i, 'route request, attempt, route result'],
  [
    /\b(money|amount|budget|usd|cost)\b[^.;]{0,30}\b(is|are|was|were) held\b|\bheld for (a|the|each) call/i,
    'reserved, reservation',
  ],
  [/\bholds? (a|the|its|their|no) leases?\b|\bleases? (is|are) held\b/i, 'has the lease, owns the lease'],
  [/\b(bytes|frames?|chunks?|answer) (is|are|was|were) held\b|\bheld[ -]back\b|\bhold[ -]back\b/i, 'buffered'],
  [/\b(deployments?|upstreams?|providers?) (rests?|is resting|are resting)\b|\bresting\b/i, 'cooldown, cooling down'],
  [
    /\b(looks?|looked) (once more|again|every|twice)\b|\bthe next looks?\b|\ba look (at|into)\b|\blooked at\b/i,
    'health check, poll, sweep; rechecked',
  ],
  [/\b(is|are|was|were) remembered\b|\bremembers (a|the|which|what)\b/i, 'cached, stored, retained'],
  [/\blen[dt]s?\b/i, 'granted, passed'],
  [/\boccasions?\b/i, 'triggers'],
  [/\b(taken|takes|took|take) up\b(?! to)/i, 'acquired, claimed, resumed'],
  [/\bat work\b/i, 'in flight, running'],
  [/\ban? \w+ of (its|their|his) own\b/i, 'own, separate, dedicated'],
  [/\banew\b/i, 'again; re-encrypt, reload, rebuild'],
  [/\bmend(s|ed|ing)?\b/i, 'repaired, normalised, fixed'],
  [/\b(breaks?|broke|broken|breaking) off\b|\b(is|was|are|were|been|be) cut off\b/i, 'truncated, interrupted'],
  [
    /\b(client|caller|process|connection|session|runner|worker)s? (is|are|was|were) gone\b/i,
    'disconnected, exited, deleted',
  ],
  [/\b(is|are|was|were) away\b/i, 'unreachable'],
  [
    /\b(api|answer|response|log|error|header|message|upstream|provider|server|gateway|process)s? (says?|said|tells?|told)\b/i,
    'report, return, notify, log',
  ],
  [/\b(is|are|was|were) told\b|\bhears? of\b|\b(tells?|told) of\b/i, 'notified; is reported'],
  [/\b(says|told|tells) nothing\b/i, 'does not reveal'],
  [/\bseal(s|ed|ing)?\b/i, 'encrypt, encryption'],
  [/\bnobody\b|\bno one\b/i, 'no key, no process, no person; or negate the verb'],
  [/\b(goes|go|went|gone|going) on\b(?= (with|in|from|as|at|until|after)\b|[.,;:)]|$)/i, 'continue'],
  [/\b(comes?|came) back\b(?= (with|to life|after)\b|[.,;:)]|$)/i, 'resume, reconnect, recover'],
  [/\bto the byte\b/i, 'exactly'],
  [/\bby nothing\b/i, 'never'],
  [/\bwants? money\b/i, 'insufficient credit'],
  [/\bgives? (it |them )?back\b|\bgiven back\b/i, 'release, return'],
  [/\bstands? (in|for|at|beside|against)\b/i, 'is in, replaces, is at'],
]

/** Words that exported identifiers do not contain. */
export const nameWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    hold: 'reserve, buffer, lease, pause',
    holds: 'contains, reserves',
    held: 'reserved, buffered, leased',
    lane: 'passthrough, translation',
    lanes: 'passthrough, translation',
    pivot: 'canonical',
    journey: 'routeRequest, routeResult',
    trip: 'routeRequest, attempt',
    arrival: 'parsedRequest',
    arrivals: 'parsedRequests',
    ask: 'request, call, send',
    asks: 'requests',
    asked: 'requested, candidates',
    refusal: 'upstreamError, rejection',
    refusals: 'upstreamErrors, rejections',
    refused: 'rejected',
    resting: 'coolingDown',
    lent: 'granted, passed',
    mended: 'repaired, normalised',
    seal: 'encrypt',
    sealed: 'encrypted',
    longest: 'max',
    most: 'max',
    told: 'notified, reported',
    tell: 'notify, report',
    tells: 'reports',
    say: 'log, report, return',
    said: 'logged, reported, returned',
    says: 'reports, returns',
    heard: 'received',
    kept: 'stored, retained',
    known: 'cached, stored',
    remembered: 'cached, stored',
    taken: 'acquired, claimed',
    gone: 'removed, deleted, disconnected, exited',
    anew: 'again',
    look: 'check, poll, sweep',
    looks: 'checks, polls',
    looked: 'checked',
    away: 'unreachable',
    occasion: 'trigger',
    occasions: 'triggers',
    nobody: 'a negated verb',
    nothing: 'empty, none',
  }),
)

/** Texts in which a word is right. */
export const exceptions: readonly Exception[] = [
  ['docs/benchmarks.md', '"lane" is passthrough', 'explains the words of older result files'],
  ['docs/endpoints.md', 'lane `native`', 'a field of the ledger'],
  ['docs/usage.md', 'lane `cache`', 'a field of the ledger'],
  ['docs/operations.md', '`nobody`', 'the name of a user of the system'],
  ['store.ts', 'sealed', 'the name of a column'],
  ['log-sinks/store.ts', 'u.lane', 'the name of a column'],
  ['core/reasoning-signers.ts', 'seal', 'part of the name of a derived key, which stays'],
  ['db/embedded/account.ts', '"nobody"', 'the name of a user of the system'],
]

/** Exported names in which a word is right, with the reason. */
export const nameExceptions: ReadonlyMap<string, string> = new Map([
  ['sealed', 'a column'],
  ['lane', 'a column'],
  ['Lane', 'a row of the timeline of a session, one per thread'],
  ['LaneBars', 'the bars of a lane of the timeline'],
  ['lanes', 'the rows of the timeline of a session'],
  ['held_in', 'a column'],
  ['held_times', 'a column'],
  ['held_usd', 'a column'],
  ['look_after', 'a column'],
  ['kept_from_seq', 'a field of an event'],
  ['asks', 'a field of the stored state of a run'],
  ['knownModels', 'a list of well-known models, not a cache'],
  ['KnownRates', 'rates of which all are set, not a cache'],
  ['isTakenOver', 'ownership of a lease'],
  ['hold', 'a step of the scripted fakes, which the prompts of tests name'],
])
