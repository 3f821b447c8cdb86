import type { Fallbacks, RouterSettings } from '../../config/deployments.ts'

/** Why a group did not serve a call: its retries are used up, or only another model can serve the call. */
export type FallbackReason = 'exhausted' | 'context_window' | 'policy'

/** Fallbacks of one call, in order. */
export interface FallbackPlan {
  /** Returns the next name to try after `failed`; undefined when there is none left. Returns each name once. */
  next(failed: FailedGroup, reason: FallbackReason): string | undefined
  /** True when there is a name left to try after `failed`. */
  hasNext(failed: FailedGroup, reason: FallbackReason): boolean
}

interface FailedGroup {
  readonly name: string
  /** The alias that covers the name: itself, or a wildcard. */
  readonly alias: string
}

interface Options {
  readonly settings: Pick<RouterSettings, 'fallbacks' | 'contextWindowFallbacks' | 'policyFallbacks'>
  readonly requested: FailedGroup
  /** The value of `x-switchyard-fallbacks`. */
  readonly header: string | undefined
  /** True for a name that a deployment serves. */
  readonly isServed: (name: string) => boolean
}

const maxFallbacks = 5

/**
 * Creates the plan of one call. The caller's list comes first, whatever the reason; then that of the model that failed,
 * then that of the requested model. Names without a deployment are skipped. Source: Gateway, section 3.
 */
export function createFallbackPlan({ settings, requested, header, isServed }: Options): FallbackPlan {
  const used = new Set([requested.name])
  const nextOf = (failed: FailedGroup, reason: FallbackReason): string | undefined => {
    if (used.size > maxFallbacks) return undefined
    const table = tableOf(settings, reason)
    const names = [...namesOf(header), ...listOf(table, failed), ...listOf(table, requested)]
    return names.find(candidate => !used.has(candidate) && isServed(candidate))
  }
  return {
    next(failed, reason) {
      const name = nextOf(failed, reason)
      if (name !== undefined) used.add(name)
      return name
    },
    hasNext: (failed, reason) => nextOf(failed, reason) !== undefined,
  }
}

interface Reach extends Pick<Options, 'settings' | 'header'> {
  readonly requested: string
  /** Returns the alias that covers a name; undefined for a name without a deployment. */
  readonly aliasOf: (name: string) => string | undefined
}

/** Returns every name that a plan may reach, the requested one first. */
export function reachableNames({ settings, requested, header, aliasOf }: Reach): readonly string[] {
  const tables = [settings.fallbacks, settings.contextWindowFallbacks, settings.policyFallbacks]
  const reached = new Set([requested, ...namesOf(header)])
  // A Set may grow while it is iterated: names added here are visited too.
  for (const name of reached) {
    const alias = aliasOf(name)
    if (alias === undefined) reached.delete(name)
    else for (const table of tables) for (const next of listOf(table, { name, alias })) reached.add(next)
  }
  return [...reached]
}

function tableOf(settings: Options['settings'], reason: FallbackReason): Fallbacks {
  switch (reason) {
    case 'exhausted':
      return settings.fallbacks
    case 'context_window':
      return settings.contextWindowFallbacks
    case 'policy':
      return settings.policyFallbacks
  }
}

const listOf = (table: Fallbacks, { name, alias }: FailedGroup): readonly string[] =>
  (Object.hasOwn(table, name) ? table[name] : Object.hasOwn(table, alias) ? table[alias] : undefined) ?? []

const namesOf = (header: string | undefined): string[] =>
  (header ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
