/** What each check of each scenario said. */
export type Outcomes = Readonly<Record<string, readonly Check[]>>

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

/** One suite, run on a server directly and through the proxy. */
export interface Run {
  readonly suite: string
  readonly pair: string
  readonly direct: Outcomes
  readonly proxied: Outcomes
}

/** The worst comes last. */
const order = ['SUCCESS', 'INFO', 'SKIPPED', 'WARNING', 'FAILURE']

/** Returns the worst outcome of each check, by scenario and id. */
function worstOf(outcomes: Outcomes): Map<string, Check> {
  const worst = new Map<string, Check>()
  for (const [scenario, checks] of Object.entries(outcomes)) {
    for (const check of checks) {
      const key = `${scenario}: ${check.id}`
      const known = worst.get(key)
      if (!known || order.indexOf(check.status) > order.indexOf(known.status)) worst.set(key, check)
    }
  }
  return worst
}

/** Returns a line for each check that came out differently through the proxy. */
export function differencesOf({ direct, proxied }: Run): readonly string[] {
  const [before, after] = [worstOf(direct), worstOf(proxied)]
  return [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap(key => {
    const [one, other] = [before.get(key), after.get(key)]
    if (one?.status === other?.status) return []
    const reason = other?.errorMessage ?? one?.errorMessage ?? ''
    return [
      `${key}: ${one?.status ?? 'absent'} direct, ${other?.status ?? 'absent'} through the proxy (${reason.slice(0, 300)})`,
    ]
  })
}

const noKeys = 'a legacy server does not choose the keys of its questions'
const noTasks = 'revisions before 2026-07-28 do not have the tasks extension'

/**
 * What a bridged server cannot show, and why, by suite: the scenario, and where only some of its checks are meant, the start of
 * their ids.
 */
const unbridged: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '2025-11-25': {
    'server-sse-multiple-streams: ': 'streams of bridged sessions have no event ids, which are optional',
    'server-sse-polling: ': 'streams of bridged sessions have no event ids, which are optional',
  },
  '2026-07-28': {
    'http-custom-header-server-validation: ': 'tools of legacy servers have no parameters in headers',
    'input-required-result-basic-elicitation: ': noKeys,
    'input-required-result-ignore-extra-params: ': noKeys,
    'server-stateless: sep-2575-missing-capability': 'a legacy server has no error for a missing capability',
    'server-stateless: sep-2575-server-rejects-undeclared-capability':
      'a legacy server has no error for a missing capability',
    'tasks-': noTasks,
  },
}

/** Returns why a difference of a bridged server is right; undefined if it is not. */
export function reasonFor({ suite, pair }: Run, difference: string): string | undefined {
  if (!pair.endsWith('bridged')) return undefined
  return Object.entries(unbridged[suite] ?? {}).find(([start]) => difference.startsWith(start))?.[1]
}

/** Returns the numbers of a run as one line. */
export function lineOf({ suite, pair, direct, proxied }: Run): string {
  const counted = (outcomes: Outcomes) => {
    const checks = [...worstOf(outcomes).values()]
    const failed = checks.filter(({ status }) => status === 'FAILURE').length
    return `${Object.keys(outcomes).length} scenarios, ${checks.length} checks, ${failed} failed`
  }
  return `${suite}, ${pair}: direct ${counted(direct)}; through the proxy ${counted(proxied)}`
}
