import { isDeepStrictEqual } from 'node:util'
import { type AgUiMessage, type AgUiRunInput, type AgUiTool, maxContextChars } from '../../contract/ag-ui-input.ts'
import { invalid } from '../platform/errors.ts'
import type { Json } from '../platform/json.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import { customEntryProblem } from '../tools/custom-tools.ts'
import { isShared, stateToolName } from '../tools/front-end.ts'
import { checkState } from './front-ends.ts'
import type { ThreadContent } from './thread-store.ts'

const none: ThreadContent = { front_end: { tools: [], text: '' }, state: null }

/** What an input gives to the model, and the paths of what the runtime of the session cannot use. */
interface GivenContent {
  readonly content: ThreadContent
  readonly ignored: readonly string[]
}

/** Returns what an input gives to the model besides the conversation. Throws `invalid_request`. */
export function contentIn(input: AgUiRunInput, takesFrontEnds: boolean): GivenContent {
  const { state } = input
  checkState(state, 'state')
  const entries = (input.tools ?? []).map(toolEntry)
  const text = textIn(input)
  const content = { front_end: { tools: entries, text }, state: isShared(state) ? state : null }
  if (takesFrontEnds) return { content, ignored: [] }
  const ignored = [
    ...(entries.length > 0 ? ['tools'] : []),
    ...((input.context ?? []).length > 0 ? ['context'] : []),
    ...(content.state === null ? [] : ['state']),
    ...input.messages.flatMap((message, at) => (isInstruction(message) ? [`messages[${at}]`] : [])),
  ]
  return { content: none, ignored }
}

/** Throws `invalid_request` for the first tool whose schema of parameters is invalid. Tools of the run before were checked then. */
export async function checkTools(
  { front_end: { tools } }: ThreadContent,
  before: ThreadContent | undefined,
  { schemaProblem }: Pick<ResultSchemas, 'schemaProblem'>,
): Promise<void> {
  if (isDeepStrictEqual(tools, before?.front_end.tools)) return
  for (const [at, { input_schema: schema }] of tools.entries()) {
    const problem = await schemaProblem(schema)
    if (problem !== undefined) throw invalid(`tools[${at}].parameters ${problem}`)
  }
}

/** Returns the declaration of a tool as agents have it. */
function toolEntry({ name, description, parameters }: AgUiTool, at: number, all: readonly AgUiTool[]): Json {
  const entry = { type: 'custom', name, description, input_schema: { type: 'object', ...parameters } }
  const others = all.slice(0, at).map(other => other.name)
  const wrong = customEntryProblem(entry, others)
  if (wrong) throw invalid(`tools[${at}]${wrong.field.replace('input_schema', 'parameters')} ${wrong.problem}`)
  if (name === stateToolName)
    throw invalid(`tools[${at}].name ${name} is the name of the tool for the shared state; choose another name`)
  return entry
}

const isInstruction = ({ role, content }: AgUiMessage): boolean =>
  (role === 'system' || role === 'developer') && typeof content === 'string' && content.trim() !== ''

/** Returns the instructions and the facts of an input for the system prompt. */
function textIn({ messages, context }: AgUiRunInput): string {
  const instructions = messages.filter(isInstruction).map(({ content }) => String(content))
  const facts = (context ?? []).map(({ description, value }) => `${description}:\n${value}`)
  const parts = [
    ...instructions,
    ...(facts.length > 0 ? [`Context from the application of the user:\n\n${facts.join('\n\n')}`] : []),
  ]
  const text = parts.join('\n\n')
  if (text.length > maxContextChars)
    throw invalid(`context and system messages must have at most ${maxContextChars} characters together`)
  return text
}
