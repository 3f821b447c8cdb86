// Requests as agents send them: instructions, tools, and a history of tool calls with their output.

const firstPrompt = 'Find out why the build fails, and fix it.'
const line = `\u001b[31merror\u001b[0m in src/index.ts: expected "}" but found 'model'\n\tat parse (C:\\users\\me\\a.ts:17)\n`
const maxOutputChars = 8_000

const bash = {
  name: 'bash',
  description: 'Runs a command in a shell and returns its output.',
  schema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
}

/** Outputs of tool calls that make up `chars` characters in all. */
function outputs(chars: number): string[] {
  const pieces: string[] = []
  for (let left = chars; left > 0; left -= maxOutputChars) {
    const length = Math.min(left, maxOutputChars)
    pieces.push(line.repeat(Math.ceil(length / line.length)).slice(0, length))
  }
  return pieces
}

/** The smallest number of output characters with which the body has `bytes`, as near as the escapes allow. */
function sized(bytes: number, bodyOf: (outputs: readonly string[]) => object): string {
  let chars = 0
  let body = JSON.stringify(bodyOf([]))
  while (body.length < bytes) {
    chars += Math.max(1, Math.ceil((bytes - body.length) * 0.7))
    body = JSON.stringify(bodyOf(outputs(chars)))
  }
  return body
}

const messagesHistory = (results: readonly string[]): object[] => [
  { role: 'user', content: [{ type: 'text', text: firstPrompt }] },
  ...results.flatMap((content, at) => {
    const id = `toolu_${at}`
    const call = { type: 'tool_use', id, name: 'bash', input: { command: 'make', description: 'Builds the project' } }
    return [
      { role: 'assistant', content: [{ type: 'text', text: 'I build it first.' }, call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] },
    ]
  }),
]

/** A call of the Messages API with about `bytes`. */
export function messagesBody(model: string, bytes: number, stream = false): string {
  const { name, description, schema: input_schema } = bash
  const tools = [{ name, description, input_schema }]
  return sized(bytes, results => {
    const messages = messagesHistory(results)
    return { model, max_tokens: 1024, stream, system: 'You are terse.', tools, messages }
  })
}

/** A call of the Chat Completions API with about `bytes`. */
export function chatBody(model: string, bytes: number): string {
  const { name, description, schema: parameters } = bash
  const tools = [{ type: 'function', function: { name, description, parameters } }]
  return sized(bytes, results => {
    const history = results.flatMap((content, at) => {
      const id = `call_${at}`
      const call = { id, type: 'function', function: { name, arguments: '{"command":"make"}' } }
      return [
        { role: 'assistant', content: 'I build it first.', tool_calls: [call] },
        { role: 'tool', tool_call_id: id, content },
      ]
    })
    const messages = [{ role: 'system', content: 'You are terse.' }, { role: 'user', content: firstPrompt }, ...history]
    return { model, max_completion_tokens: 1024, tools, messages }
  })
}

const ephemeral = { cache_control: { type: 'ephemeral' } }
const toolCount = 20

/** A call as Claude Code sends it: long instructions and tools with cache points, a long history, as a stream. */
export function codingAgentBody(model: string, bytes: number): string {
  const rule = 'When you change code, read the file first, keep its style, and run the tests that cover the change. '
  const system = [
    { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.0.0; cc_entrypoint=cli; cch=00000;' },
    { type: 'text', text: "You are Claude Code, Anthropic's official CLI for Claude.", ...ephemeral },
    { type: 'text', text: rule.repeat(140), ...ephemeral },
  ]
  const tools = Array.from({ length: toolCount }, (_, at) => codingTool(at === 0 ? 'bash' : `tool_${at}`, rule))
  const metadata = { user_id: 'user_bench_account__session_00000000-0000-4000-8000-000000000000' }
  return sized(bytes, results => {
    const messages = messagesHistory(results)
    return { model, messages, system, tools, metadata, max_tokens: 32_000, stream: true }
  })
}

function codingTool(name: string, rule: string): object {
  const text = { type: 'string', description: rule }
  const properties = {
    command: text,
    description: text,
    timeout: { type: 'number', minimum: 0, maximum: 600_000 },
    edits: { type: 'array', items: { type: 'object', properties: { old: text, new: text }, required: ['old', 'new'] } },
    mode: { type: 'string', enum: ['content', 'files', 'count'] },
  }
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
  }
  return { name, description: rule.repeat(10), input_schema: { ...schema, properties, required: ['command'] } }
}
