import type { A2aPart } from '../../contract/a2a-objects.ts'

export interface ToolCall {
  readonly name: string
  readonly input: unknown
  /** True for a custom tool, whose result the client sends. */
  readonly isCustom: boolean
}

/** A tool call that waits for an answer from outside: an approval, or the result of a custom tool. */
export interface Question extends ToolCall {
  /** Id of its event. */
  readonly id: string
}

/** Returns what a task asks its client: as text, and as data with the exact arguments. */
export function questionParts(questions: readonly Question[]): A2aPart[] {
  const approvals = questions.filter(({ isCustom }) => !isCustom)
  const calls = questions.filter(({ isCustom }) => isCustom)
  const hint =
    calls.length === 1 && approvals.length === 0 ? 'Answer with its result.' : 'Answer with data: call_id and result.'
  const texts = [
    ...(approvals.length > 0
      ? [`Approval required: ${shown(approvals)}. Answer "approve", "deny" or "deny: <reason>".`]
      : []),
    ...(calls.length > 0 ? [`Tool results required: ${shown(calls)}. ${hint}`] : []),
  ]
  const data = {
    ...(approvals.length > 0 && {
      approvals: approvals.map(({ id, name, input }) => ({ approval_id: id, name, input })),
    }),
    ...(calls.length > 0 && { custom_tool_calls: calls.map(({ id, name, input }) => ({ call_id: id, name, input })) }),
  }
  return [{ text: texts.join('\n') }, { data, mediaType: 'application/json' }]
}

const shown = (questions: readonly Question[]): string =>
  questions.map(({ name, input }) => `${name} ${JSON.stringify(input ?? {})}`).join('; ')
