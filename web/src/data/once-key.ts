/** Returns a random `Idempotency-Key`, also on pages over plain http, which have no `crypto.randomUUID`. */
export const onceKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')
