import { closestTo } from '../platform/closest.ts'
import type { Fallbacks, RouterSettings } from './deployments.ts'
import type { ConfigFile, Place } from './file.ts'

/** Defaults. Source: Gateway, section 3. */
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
  /** All model names; wildcards end in `*`. */
  readonly aliases: readonly string[]
  readonly report: (text: string, place: Place) => void
  /** Reports a possible mistake that does not stop the start. */
  readonly warn: (text: string) => void
}

/**
 * Returns the settings of the block `router`. A fallback to an unknown model is only a warning, because the API may add
 * the model later.
 */
export function routerOfFile({ file, aliases, report, warn }: Options): RouterSettings {
  const given = file.value.router ?? {}
  const checked = (key: 'fallbacks' | 'context_window_fallbacks' | 'policy_fallbacks'): Fallbacks => {
    const reportAt = (text: string, ...path: (string | number)[]) =>
      report(`router.${key}${text}`, file.place(['router', key, ...path]))
    const warnAt = (text: string, name: string) =>
      warn(`router.${key}${text} is not a model of the file${suggestion(name, aliases)}`)
    return checkedFallbacks(given[key] ?? {}, { aliases, reportAt, warnAt })
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
  readonly reportAt: (text: string, ...path: (string | number)[]) => void
  /** Warns of a name that is not a model of the file. */
  readonly warnAt: (place: string, name: string) => void
}

function checkedFallbacks(
  given: Readonly<Record<string, readonly (string | undefined)[] | undefined>>,
  { aliases, reportAt, warnAt }: Check,
): Fallbacks {
  const entries = Object.entries(given).map(([from, targets = []]): [string, string[]] => {
    if (!aliases.includes(from) && !isCovered(from, aliases)) warnAt(`.${from}`, from)
    const known = targets.flatMap((to, index) => {
      // A value of a wrong type was reported while the file was parsed.
      if (to === undefined) return []
      if (to.endsWith('*')) reportAt(`.${from}[${index}] ${to} is a wildcard; name one model`, from, index)
      else if (!isCovered(to, aliases)) warnAt(`.${from}[${index}] ${to}`, to)
      return [to]
    })
    return [from, known]
  })
  return Object.fromEntries(entries)
}

/** True for a name without a wildcard that an entry serves. */
const isCovered = (name: string, aliases: readonly string[]): boolean =>
  !name.endsWith('*') &&
  aliases.some(alias => (alias.endsWith('*') ? name.startsWith(alias.slice(0, -1)) : alias === name))

function suggestion(name: string, aliases: readonly string[]): string {
  const near = closestTo(name, aliases)
  const added = '; it takes effect once a model of that name is added by the API'
  return near === undefined ? added : `${added}; did you mean ${near}?`
}

const milliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.round(seconds * 1000)
