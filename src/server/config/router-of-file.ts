import { closestTo } from '../platform/closest.ts'
import type { Fallbacks, RouterSettings } from './config.ts'
import type { ConfigFile, Place } from './file.ts'

/** What holds where the file says nothing. Source: Gateway, section 3. */
export const defaultRouter: RouterSettings = {
  retries: 2,
  cooldown: { failures: 3, windowMs: 60_000, outMs: 30_000 },
  fallbacks: {},
  contextWindowFallbacks: {},
  policyFallbacks: {},
  sticky: true,
}

interface Options {
  readonly file: ConfigFile
  /** Every name that clients can send; wildcards end in `*`. */
  readonly aliases: readonly string[]
  readonly report: (text: string, place: Place) => void
  /** Takes what the operator should know, though it may be meant so. */
  readonly warn: (text: string) => void
}

/**
 * The file's `router` block. A name that is no model's of the file may be one that is added by the API: the operator is warned,
 * since a wrong one would fail when it is needed most.
 */
export function routerOfFile({ file, aliases, report, warn }: Options): RouterSettings {
  const given = file.value.router ?? {}
  const checked = (key: 'fallbacks' | 'context_window_fallbacks' | 'policy_fallbacks'): Fallbacks => {
    const say = (text: string, ...path: (string | number)[]) =>
      report(`router.${key}${text}`, file.place(['router', key, ...path]))
    const doubt = (text: string, name: string) =>
      warn(`router.${key}${text} names no model of the file${meant(name, aliases)}`)
    return checkedFallbacks(given[key] ?? {}, { aliases, say, doubt })
  }
  const { failures, windowMs, outMs } = defaultRouter.cooldown
  return {
    retries: given.retries ?? defaultRouter.retries,
    cooldown: {
      failures: given.cooldown?.failures ?? failures,
      windowMs: milliseconds(given.cooldown?.window_s) ?? windowMs,
      outMs: milliseconds(given.cooldown?.seconds) ?? outMs,
    },
    fallbacks: checked('fallbacks'),
    contextWindowFallbacks: checked('context_window_fallbacks'),
    policyFallbacks: checked('policy_fallbacks'),
    sticky: given.sticky ?? defaultRouter.sticky,
  }
}

interface Check {
  readonly aliases: readonly string[]
  readonly say: (text: string, ...path: (string | number)[]) => void
  /** Takes the place of a name that no model of the file has. */
  readonly doubt: (place: string, name: string) => void
}

function checkedFallbacks(
  given: Readonly<Record<string, readonly (string | undefined)[] | undefined>>,
  { aliases, say, doubt }: Check,
): Fallbacks {
  const entries = Object.entries(given).map(([from, targets = []]): [string, string[]] => {
    if (!aliases.includes(from) && !isCovered(from, aliases)) doubt(`.${from}`, from)
    const known = targets.flatMap((to, index) => {
      // What is no text has been reported by the reader of the file.
      if (to === undefined) return []
      if (to.endsWith('*')) say(`.${from}[${index}] ${to} is a wildcard; name one model`, from, index)
      else if (!isCovered(to, aliases)) doubt(`.${from}[${index}] ${to}`, to)
      return [to]
    })
    return [from, known]
  })
  return Object.fromEntries(entries)
}

/** True for a name that a client could send and that some entry serves. */
const isCovered = (name: string, aliases: readonly string[]): boolean =>
  !name.endsWith('*') &&
  aliases.some(alias => (alias.endsWith('*') ? name.startsWith(alias.slice(0, -1)) : alias === name))

function meant(name: string, aliases: readonly string[]): string {
  const near = closestTo(name, aliases)
  const added = '; it is used once the API adds a model of that name'
  return near === undefined ? added : `${added}; did you mean ${near}?`
}

const milliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.round(seconds * 1000)
