import { type Fields, isRecord, parseJson, recordOf } from '../../../data/json.ts'
import { present } from '../../../data/present.ts'
import { chatMessagesOf, inputOf, losesThinking, messagesOf, turnProblem } from './content.ts'
import { type Format, formatNames, jsonProblems, listOf, type PlaygroundForm } from './form.ts'
import { toolsIn } from './tools.ts'

export const paths: Readonly<Record<Format, string>> = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
}

/** Returns the body of the request that a form makes, streamed. The form has no problem. */
export function bodyOf(form: PlaygroundForm, format: Format, model: string): Fields {
  const { own, others } = parts(form, format, model)
  const merged = Object.entries(own).map(([name, value]) => [
    name,
    isRecord(value) && isRecord(others[name]) ? { ...others[name], ...value } : value,
  ])
  return { ...others, ...Object.fromEntries(merged) }
}

/** Fields of the form, and those of the field for others. */
function parts(form: PlaygroundForm, format: Format, model: string) {
  const own: Fields = { model, ...present(builders[format](form)), stream: true }
  return { own, others: recordOf(parseJson(form.others).value) }
}

const builders: Readonly<Record<Format, (form: PlaygroundForm) => Fields>> = {
  messages: form => ({
    max_tokens: form.maxTokens,
    system: textOrNothing(form.system),
    messages: messagesOf(filled(form)),
    temperature: form.temperature,
    thinking: thinkingOf(form),
    output_config: nonEmpty({
      effort: textOrNothing(form.effort),
      format: schemaOf(form) && { type: 'json_schema', schema: schemaOf(form) },
    }),
    tools: toolsOf(form, 'messages'),
  }),
  chat: form => ({
    messages: [
      ...(form.system.trim() === '' ? [] : [{ role: 'system', content: form.system }]),
      ...chatMessagesOf(filled(form)),
    ],
    max_completion_tokens: form.maxTokens,
    temperature: form.temperature,
    reasoning_effort: textOrNothing(form.effort),
    response_format: schemaOf(form) && {
      type: 'json_schema',
      json_schema: { name: 'answer', schema: schemaOf(form), strict: true },
    },
    tools: toolsOf(form, 'chat'),
    stream_options: { include_usage: true },
  }),
  responses: form => ({
    instructions: textOrNothing(form.system),
    input: inputOf(filled(form)),
    max_output_tokens: form.maxTokens,
    temperature: form.temperature,
    reasoning: nonEmpty({ effort: textOrNothing(form.effort) }),
    text: schemaOf(form) && { format: { type: 'json_schema', name: 'answer', schema: schemaOf(form), strict: true } },
    tools: toolsOf(form, 'responses'),
    // The form has the whole conversation, so the service need not keep it.
    store: false,
  }),
}

/** Turns with content. An empty last turn of the user is where the next message is written. */
const filled = ({ turns }: PlaygroundForm) => turns.filter(({ content }) => content.length > 0)

const textOrNothing = (text: string): string | undefined => (text.trim() === '' ? undefined : text)

function nonEmpty(fields: Fields): Fields | undefined {
  const found = present(fields)
  return Object.keys(found).length === 0 ? undefined : found
}

const schemaOf = ({ schema }: PlaygroundForm): unknown => parseJson(schema).value

function toolsOf({ tools }: PlaygroundForm, format: Format): readonly unknown[] | undefined {
  const list = listOf(parseJson(tools).value)
  return list.length === 0 ? undefined : toolsIn(format, list)
}

/** Returns the setting of thinking in the words of Messages; undefined for that of the model. */
export function thinkingOf({ thinking, thinkingBudget }: PlaygroundForm): Fields | undefined {
  if (thinking === 'default') return undefined
  return thinking === 'enabled' ? { type: 'enabled', budget_tokens: thinkingBudget } : { type: thinking }
}

/** Returns why a form cannot be sent; undefined when it can. */
export function formProblem(form: PlaygroundForm, format: Format): string | undefined {
  const { tools, schema, others } = jsonProblems(form)
  if (tools !== undefined) return `Tools: ${tools}`
  if (schema !== undefined) return `Schema of the answer: ${schema}`
  if (others !== undefined) return `Other fields: ${others}`
  if (filled(form).length === 0) return 'Write a message first'
  return settingProblem(form, format) ?? turnsProblem(form, format) ?? doubled(form, format)
}

function settingProblem({ maxTokens, thinking, thinkingBudget }: PlaygroundForm, format: Format): string | undefined {
  if (format !== 'messages') return undefined
  if (maxTokens === undefined) return 'Messages require a maximum of output tokens'
  if (thinking === 'enabled' && thinkingBudget === undefined) return 'Thinking needs its number of tokens'
  return undefined
}

function turnsProblem({ turns }: PlaygroundForm, format: Format): string | undefined {
  const at = turns.findIndex(turn => turnProblem(turn, format) !== undefined)
  const turn = turns[at]
  return turn && `Turn ${at + 1} ${turnProblem(turn, format)}`
}

/** A field that stands in the form and among the other fields would be sent once only. */
function doubled(form: PlaygroundForm, format: Format): string | undefined {
  const { own, others } = parts(form, format, '')
  const name = Object.keys(others).find(each => each in own && !(isRecord(own[each]) && isRecord(others[each])))
  return name === undefined ? undefined : `Other fields: ${name} already is a field of the form`
}

/** Returns what a format leaves out of the form. */
export function leftOut({ turns }: PlaygroundForm, format: Format): string | undefined {
  const numbers = turns.flatMap((turn, at) => (losesThinking(turn, format) ? [at + 1] : []))
  if (numbers.length === 0) return undefined
  return `${formatNames[format]} leave out the thinking in turn ${numbers.join(', ')}.`
}
