import { randomBytes } from 'node:crypto'

/** A secret that was planted, and the bytes of it that nothing but the secret holds. */
export interface Canary {
  readonly name: string
  readonly core: Buffer
}

/** A secret somewhere that it was found. */
export interface Finding {
  readonly canary: string
  readonly place: string
  /** As what it was written there. */
  readonly as: string
}

/** Somewhere that a secret may be. Source: Security, section 4. */
export interface AllowedPlace {
  readonly canary: RegExp
  readonly place: RegExp
  readonly reason: string
}

/**
 * A new secret around random letters and digits: URL encoding and JSON leave those as they are, so that looking for them
 * finds the secret in such writings too.
 */
export function plantCanary(name: string, around: (core: string) => string = core => core) {
  const core = randomBytes(20).toString('hex')
  return { canary: { name, core: Buffer.from(core) }, secret: around(core) }
}

/** Every place of a canary but the allowed ones, and the allowances that were of no use. */
export function scan(
  places: Iterable<readonly [name: string, content: Buffer | string]>,
  canaries: readonly Canary[],
  allowed: readonly AllowedPlace[] = [],
): { readonly findings: readonly Finding[]; readonly unused: readonly AllowedPlace[] } {
  const wanted = canaries.map(canary => ({ canary, needles: needlesOf(canary.core) }))
  const unused = new Set(allowed)
  const findings: Finding[] = []
  for (const [place, content] of places) {
    const bytes = Buffer.from(content)
    for (const { canary, needles } of wanted) {
      const found = needles.find(({ needle }) => bytes.includes(needle))
      if (!found) continue
      const allowance = allowed.find(entry => entry.canary.test(canary.name) && entry.place.test(place))
      if (allowance) unused.delete(allowance)
      else findings.push({ canary: canary.name, place, as: found.as })
    }
  }
  return { findings, unused: [...unused] }
}

/** Each half of a secret, so that one that was cut short is found too, in every writing. */
function needlesOf(core: Buffer): { readonly as: string; readonly needle: Buffer }[] {
  const half = Math.floor(core.length / 2)
  return [core.subarray(0, half), core.subarray(half)].flatMap(part => [
    { as: 'plain', needle: part },
    { as: 'hex', needle: Buffer.from(part.toString('hex')) },
    { as: 'hex', needle: Buffer.from(part.toString('hex').toUpperCase()) },
    ...[0, 1, 2].flatMap(offset => base64Needles(part, offset)),
  ])
}

/** Base64 of `part` when `offset` bytes of a group of three come before it, in both alphabets. */
function base64Needles(part: Buffer, offset: number) {
  const whole = Buffer.concat([Buffer.alloc(offset), part])
    .toString('base64')
    .replace(/=+$/, '')
  // The first and the last group also contain bits of the bytes around.
  const sure = whole.slice(offset === 0 ? 0 : 4, -3)
  return [sure, sure.replaceAll('+', '-').replaceAll('/', '_')].map(text => ({
    as: 'base64',
    needle: Buffer.from(text),
  }))
}
