import { type Json, recordOf } from '../../../platform/json.ts'

/** Tool that the client runs and that has its own type of call item. */
export interface ClientTool {
  readonly description: string
  readonly schema: Json
  /** Type of the call item. The type of the result item is this with `_output`. */
  readonly callType: string
  /** Returns the fields of the call item, without ids and status. */
  callFields(input: Json): Json
  /** Returns the model's input for an earlier call item. */
  inputOf(item: Json): Json
  /** Returns the output in a result item. */
  outputOf(item: Json): unknown
}

const texts = { type: 'array', items: { type: 'string' } }
const number = { type: 'integer' }

/** Client tools by their type in a request. */
export const clientTools: ReadonlyMap<string, ClientTool> = new Map([
  [
    'local_shell',
    {
      description: 'Runs a command on the local machine and returns its output.',
      schema: {
        type: 'object',
        properties: { command: texts, working_directory: { type: 'string' }, timeout_ms: number },
        required: ['command'],
      },
      callType: 'local_shell_call',
      callFields: ({ command, working_directory = null, timeout_ms = null }) => ({
        action: { type: 'exec', command: listOf(command), env: {}, timeout_ms, user: null, working_directory },
      }),
      inputOf: ({ action }) => picked(action, ['command', 'working_directory', 'timeout_ms']),
      outputOf: ({ output }) => output,
    },
  ],
  [
    'shell',
    {
      description: 'Runs shell commands and returns what each wrote and how it ended.',
      schema: {
        type: 'object',
        properties: { commands: texts, timeout_ms: number, max_output_length: number },
        required: ['commands'],
      },
      callType: 'shell_call',
      callFields: ({ commands, timeout_ms = null, max_output_length = null }) => ({
        action: { commands: listOf(commands), timeout_ms, max_output_length },
        environment: null,
      }),
      inputOf: ({ action }) => picked(action, ['commands', 'timeout_ms', 'max_output_length']),
      outputOf: ({ output }) => JSON.stringify(output),
    },
  ],
  [
    'apply_patch',
    {
      description:
        'Creates, updates or deletes one file. `diff` is a V4A diff: lines that begin with a space, + or -, in hunks that begin with @@; it is not needed to delete.',
      schema: {
        type: 'object',
        properties: {
          type: { enum: ['create_file', 'update_file', 'delete_file'] },
          path: { type: 'string' },
          diff: { type: 'string' },
        },
        required: ['type', 'path'],
      },
      callType: 'apply_patch_call',
      callFields: ({ type, path, diff }) => ({
        operation: { type, path, ...(type !== 'delete_file' && { diff: String(diff ?? '') }) },
      }),
      inputOf: ({ operation }) => picked(operation, ['type', 'path', 'diff']),
      outputOf: ({ status, output }) => `${String(status)}${output ? `: ${String(output)}` : ''}`,
    },
  ],
  [
    'tool_search',
    {
      description: 'Finds tools that are not offered yet.',
      schema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
      callType: 'tool_search_call',
      callFields: input => ({ execution: 'client', arguments: input }),
      inputOf: item => recordOf(item['arguments']),
      outputOf: ({ tools }) => `Found, and offered from now on: ${namesIn(tools) || 'nothing'}`,
    },
  ],
])

const byCall: ReadonlyMap<string, { readonly type: string; readonly tool: ClientTool }> = new Map(
  [...clientTools].map(([type, tool]) => [tool.callType, { type, tool }]),
)

/** Returns the tool of a call item or result item; undefined for other items. */
export const clientToolOf = (itemType: string) => byCall.get(itemType.replace(/_output$/, ''))

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [String(value)])

function picked(value: unknown, names: readonly string[]): Json {
  const fields = recordOf(value)
  return Object.fromEntries(names.flatMap(name => (fields[name] == null ? [] : [[name, fields[name]]])))
}

function namesIn(tools: unknown): string {
  if (!Array.isArray(tools)) return ''
  return tools
    .flatMap((tool): unknown[] => {
      const { name, tools: inner } = recordOf(tool)
      return Array.isArray(inner) ? inner.map(one => `${String(name)}__${String(recordOf(one)['name'])}`) : [name]
    })
    .join(', ')
}
