import type { Agent } from '../../contract/agents.ts'
import { invalid } from '../platform/errors.ts'
import { isAbsent, isRecord } from '../platform/json.ts'

interface Rule {
  readonly isMet: (value: unknown) => boolean
  readonly must: string
}

const wholeNumber = (most: number, least = 1): Rule => ({
  isMet: value => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
  must: `be a whole number from ${least} to ${most}`,
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

const mostTokens = 100_000_000

/** The settings of `config.context`: how much of a model's window sessions use. */
const contextRules: Readonly<Record<string, Rule>> = {
  max_input_tokens: wholeNumber(mostTokens, 1_000),
  kept_tokens: wholeNumber(mostTokens, 0),
}

/** Refuses a setting that the engine could not follow; null takes one away. The message names the field. */
export function checkRunDefaults(config: Agent['config'] | null | undefined): void {
  for (const [name, { isMet, must }] of Object.entries(rules)) {
    const value = config?.[name]
    if (!isAbsent(value) && !isMet(value)) throw invalid(`config.${name} must ${must}`)
  }
  if (!isAbsent(config?.['context'])) checkContext(config['context'])
}

function checkContext(context: unknown): void {
  if (!isRecord(context)) throw invalid('config.context must be an object')
  for (const [name, value] of Object.entries(context)) {
    const rule = Object.hasOwn(contextRules, name) ? contextRules[name] : undefined
    const known = Object.keys(contextRules).join(', ')
    if (!rule) throw invalid(`config.context.${name.slice(0, 100)} is unknown; known here: ${known}`)
    if (!isAbsent(value) && !rule.isMet(value)) throw invalid(`config.context.${name} must ${rule.must}`)
  }
}
