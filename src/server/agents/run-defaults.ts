import type { Agent } from '../../contract/agents.ts'
import { invalid } from '../platform/errors.ts'
import { isAbsent, isRecord } from '../platform/json.ts'
import { maxTimeoutSeconds } from '../tools/custom-tools.ts'

interface Rule {
  readonly isMet: (value: unknown) => boolean
  readonly must: string
}

const wholeNumber = (max: number, min = 1): Rule => ({
  isMet: value => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  must: `be a whole number from ${min} to ${max}`,
})

const busyModes = ['enqueue', 'reject', 'interrupt', 'steer']

/** Rules for the settings of `config` that the engine reads. All other settings are stored as sent. */
const rules: Readonly<Record<string, Rule>> = {
  max_turns: wholeNumber(10_000),
  custom_tool_timeout_seconds: wholeNumber(maxTimeoutSeconds),
  time_limit_seconds: wholeNumber(604_800),
  pinned_version: wholeNumber(2_147_483_647),
  busy_mode: {
    isMet: value => typeof value === 'string' && busyModes.includes(value),
    must: `be one of ${busyModes.join(', ')}`,
  },
  session_max_budget: {
    isMet: value => typeof value === 'number' && value > 0 && value <= 1e9,
    must: 'be a number of US dollars above 0, at most 1000000000',
  },
}

const maxTokens = 100_000_000

/** The settings of `config.context`: how much of a model's window sessions use. */
const contextRules: Readonly<Record<string, Rule>> = {
  max_input_tokens: wholeNumber(maxTokens, 1_000),
  kept_tokens: wholeNumber(maxTokens, 0),
}

/** Throws `invalid` for a setting that the engine cannot use; null removes one. The message names the field. */
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
    if (!rule) throw invalid(`config.context.${name.slice(0, 100)} is unknown; known fields: ${known}`)
    if (!isAbsent(value) && !rule.isMet(value)) throw invalid(`config.context.${name} must ${rule.must}`)
  }
}
