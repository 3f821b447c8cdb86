import type { Agent } from '../../contract/agents.ts'
import { maxApprovalMs } from '../../contract/approvals.ts'
import { durationMs } from '../platform/durations.ts'
import { invalid } from '../platform/errors.ts'
import { isAbsent, isRecord, recordOf } from '../platform/json.ts'
import { maxTimeoutSeconds } from '../tools/custom-tools.ts'
import { subagentProblem } from '../tools/subagents.ts'

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

/** The settings of `config.a2a`: whether other agents may call this one. */
const a2aRules: Readonly<Record<string, Rule>> = {
  enabled: { isMet: value => typeof value === 'boolean', must: 'be true or false' },
  public_card: { isMet: value => typeof value === 'boolean', must: 'be true or false' },
}

/** Checks the fields of `config.agents`. */
function checkAgents(agents: unknown): void {
  const wrong = isAbsent(agents) ? undefined : subagentProblem(agents)
  if (wrong) throw invalid(`config.agents${wrong.field} ${wrong.problem}`)
}

/** Checks `config.approvals`; the contract has checked its known fields. */
function checkApprovals(approvals: unknown): void {
  const { approvers: _approvers, expires_in, ...others } = recordOf(approvals)
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw invalid(`config.approvals.${unknown.slice(0, 100)} is unknown; known fields: approvers, expires_in`)
  const ms = typeof expires_in === 'string' ? durationMs(expires_in) : undefined
  if (ms !== undefined && ms > maxApprovalMs) throw invalid('config.approvals.expires_in must be at most 30d')
}

/** Checks that a type of replies is named or follows from the signature; the contract has checked the fields. */
function checkReply(webhook: unknown): void {
  const { reply, signature } = recordOf(webhook)
  const preset = recordOf(signature)['preset']
  if (isAbsent(reply) || !isAbsent(recordOf(reply)['type']) || preset === 'github' || preset === 'slack') return
  throw invalid('config.webhook.reply.type is required unless config.webhook.signature.preset is github or slack')
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
  checkAgents(config?.['agents'])
  checkApprovals(config?.['approvals'])
  checkReply(config?.['webhook'])
  checkGroup('context', contextRules, config)
  checkGroup('a2a', a2aRules, config)
}

/** Checks a setting that is an object of settings. */
function checkGroup(group: string, known: Readonly<Record<string, Rule>>, config: Agent['config'] | null | undefined) {
  const given = config?.[group]
  if (isAbsent(given)) return
  if (!isRecord(given)) throw invalid(`config.${group} must be an object`)
  for (const [name, value] of Object.entries(given)) {
    const rule = Object.hasOwn(known, name) ? known[name] : undefined
    const names = Object.keys(known).join(', ')
    if (!rule) throw invalid(`config.${group}.${name.slice(0, 100)} is unknown; known fields: ${names}`)
    if (!isAbsent(value) && !rule.isMet(value)) throw invalid(`config.${group}.${name} must ${rule.must}`)
  }
}
