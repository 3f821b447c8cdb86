import type { Agent } from '../../contract/agents.ts'
import { invalid } from '../platform/errors.ts'

interface Rule {
  readonly isMet: (value: unknown) => boolean
  readonly must: string
}

const wholeNumber = (most: number): Rule => ({
  isMet: value => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most,
  must: `be a whole number from 1 to ${most}`,
})

const busyModes = ['enqueue', 'reject', 'interrupt', 'steer']

/** The settings of `config` that the engine itself reads, and what they must be. All others are kept as sent. */
const rules: Readonly<Record<string, Rule>> = {
  max_turns: wholeNumber(10_000),
  time_limit_seconds: wholeNumber(604_800),
  pinned_version: wholeNumber(2_147_483_647),
  busy_mode: {
    isMet: value => typeof value === 'string' && busyModes.includes(value),
    must: `be one of ${busyModes.join(', ')}`,
  },
  session_max_budget: {
    isMet: value => typeof value === 'number' && value > 0 && value <= 1e9,
    must: 'be US dollars above 0, at most 1000000000',
  },
}

/** Refuses a setting that the engine could not follow; null takes one away. The message names the field. */
export function checkRunDefaults(config: Agent['config'] | null | undefined): void {
  for (const [name, { isMet, must }] of Object.entries(rules)) {
    const value = config?.[name]
    if (value !== undefined && value !== null && !isMet(value)) throw invalid(`config.${name} must ${must}`)
  }
}
