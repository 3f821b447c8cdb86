import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, targetAt } from '../../../../../test/support/gateway/gateway-app.ts'
import type { Deployment } from '../../../config/deployments.ts'
import { AppError } from '../../../platform/errors.ts'
import { degradedHeader } from '../../core/degradations.ts'
import { responsesClient } from './read-request.ts'
import { encodedThinking } from './reasoning.ts'

const convert = (request: object, changes: Partial<Deployment> = {}) => {
  const target = targetAt(deploymentAt('http://127.0.0.1:1', changes), 'claude-opus-5-5')
  const context = { target, stream: true, model: 'm', requestId: 'req_1', createdAt: 1 }
  const { body, degraded } = responsesClient({ model: 'm', input: 'hi', ...request }, context)
  // A JSON copy has no recorded paths of parts.
  return { body: JSON.parse(JSON.stringify(body)) as typeof body, degraded: degradedHeader(degraded) }
}
const text = (said: string) => ({ type: 'text', text: said })
const user = { role: 'user', content: [text('hi')] }
const hi = { role: 'user', content: [{ type: 'input_text', text: 'hi' }] }
const use = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input })
const result = (id: string, ...content: object[]) => ({ type: 'tool_result', tool_use_id: id, content })
const assistant = (...content: object[]) => ({ role: 'assistant', content })
const results = (...content: object[]) => ({ role: 'user', content })
const thinking = { type: 'thinking', thinking: 'hm', signature: 'sig==' }
const redacted = { type: 'redacted_thinking', data: 'xyz' }
const reasoning = (encrypted_content: string | null) => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [],
  encrypted_content,
})
const png = 'data:image/png;base64,AAAA'
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }

const inputs: readonly (readonly [string, unknown, readonly object[], string?])[] = [
  ['a string is the user’s', 'hi', [user]],
  [
    'items without a type become messages, with content of all kinds',
    [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'hi' },
          { type: 'input_image', image_url: png, detail: 'auto' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'a' },
          { type: 'refusal', refusal: 'no' },
        ],
      },
    ],
    [results(text('hi'), image), assistant(text('a'), text('no'))],
  ],
  [
    'K1: encoded thinking is restored unchanged, in its place',
    [
      hi,
      reasoning(encodedThinking(thinking)),
      reasoning(encodedThinking(redacted)),
      { type: 'message', role: 'assistant', content: 'a' },
    ],
    [user, assistant(thinking, redacted, text('a'))],
  ],
  [
    'K4: reasoning of other providers is dropped and recorded',
    [hi, reasoning('gAAAA'), reasoning(null), { type: 'message', role: 'assistant', content: 'a' }],
    [user, assistant(text('a'))],
    'input.1=dropped, input.2=dropped',
  ],
  [
    'K8: thinking without content after it is not replayed',
    [hi, reasoning(encodedThinking(thinking)), hi],
    [results(text('hi'), text('hi'))],
    'reasoning=loose_dropped',
  ],
  [
    'calls and results, in one turn each',
    [
      hi,
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":1}' },
      { type: 'function_call', call_id: 'b', name: 'spawn', namespace: 'agents', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'one' },
      { type: 'function_call_output', call_id: 'b', output: '' },
    ],
    [
      user,
      assistant(use('a', 'f', { x: 1 }), use('b', 'agents__spawn', {})),
      results(result('a', text('one')), result('b', text('(no output)'))),
    ],
  ],
  [
    'M1: an image in a result',
    [
      hi,
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'a',
        output: [
          { type: 'input_text', text: 'see' },
          { type: 'input_image', image_url: png },
        ],
      },
    ],
    [user, assistant(use('a', 'f', {})), results(result('a', text('see'), image))],
  ],
  [
    'calls of custom tools',
    [
      hi,
      { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: '*** Begin' },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'ok' },
    ],
    [user, assistant(use('a', 'apply_patch', { input: '*** Begin' })), results(result('a', text('ok')))],
  ],
  [
    'several results of one call are merged, at any place',
    [
      hi,
      { type: 'custom_tool_call', call_id: 'a', name: 'exec', input: 'notify(1)' },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'running' },
      { type: 'function_call', call_id: 'b', name: 'wait', arguments: '{}' },
      { type: 'custom_tool_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'noted' }] },
      { type: 'function_call_output', call_id: 'b', output: 'over' },
    ],
    [
      user,
      assistant(use('a', 'exec', { input: 'notify(1)' })),
      results(result('a', text('running'), text('noted'))),
      assistant(use('b', 'wait', {})),
      results(result('b', text('over'))),
    ],
  ],
  [
    'calls of the local shell, whose result references the item',
    [
      hi,
      {
        type: 'local_shell_call',
        id: 'lsh_1',
        call_id: 'a',
        action: { type: 'exec', command: ['ls'], env: {}, timeout_ms: null },
      },
      { type: 'local_shell_call_output', id: 'lsh_1', output: 'x' },
    ],
    [user, assistant(use('a', 'local_shell', { command: ['ls'] })), results(result('a', text('x')))],
  ],
  [
    'calls of the shell and of the patch tool',
    [
      hi,
      { type: 'shell_call', call_id: 'a', action: { commands: ['ls'] } },
      { type: 'apply_patch_call', call_id: 'b', operation: { type: 'delete_file', path: 'x' } },
      { type: 'shell_call_output', call_id: 'a', output: [{ stdout: 'x' }] },
      { type: 'apply_patch_call_output', call_id: 'b', status: 'failed', output: 'gone' },
    ],
    [
      user,
      assistant(use('a', 'shell', { commands: ['ls'] }), use('b', 'apply_patch', { type: 'delete_file', path: 'x' })),
      results(result('a', text('[{"stdout":"x"}]')), result('b', text('failed: gone'))),
    ],
  ],
  [
    'later instructions are tagged, and items of other tools dropped',
    [hi, { type: 'message', role: 'developer', content: 'now' }, { type: 'web_search_call', id: 'ws_1' }],
    [results(text('hi'), text('<system>\nnow\n</system>'))],
    'input.1=moved_to_user, input.2=dropped',
  ],
]

for (const [guarantee, input, messages, listed] of inputs) {
  test(guarantee, () => {
    const { body, degraded } = convert({ input })
    assert.deepEqual(body['messages'], messages)
    assert.equal(degraded, listed)
  })
}

const schema = { type: 'object', properties: { a: {} } }
const f = { type: 'function', name: 'f', description: 'd', parameters: schema, strict: false }
const canonicalF = { name: 'f', description: 'd', input_schema: schema }
const canonicalText = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The raw text that the tool takes.' } },
  required: ['input'],
}
const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }

const settings: readonly (readonly [string, object, object, string?])[] = [
  ['instructions are the system prompt', { instructions: 'Be brief.' }, { system: [text('Be brief.')] }],
  ['max_output_tokens is the limit', { max_output_tokens: 9 }, { max_tokens: 9 }],
  [
    'effort and summary become adaptive thinking with its text',
    { reasoning: { effort: 'high', summary: 'auto' } },
    { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } },
  ],
  [
    'effort alone does not set the display of thinking',
    { reasoning: { effort: 'low' } },
    { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
  ],
  [
    'a summary alone does not set the effort',
    { reasoning: { summary: 'auto' } },
    { thinking: { type: 'adaptive', display: 'summarized' } },
  ],
  [
    'text.format becomes the output format',
    { text: { format: { type: 'json_schema', name: 'n', schema }, verbosity: 'low' } },
    { output_config: { format: { type: 'json_schema', schema } } },
    'text.verbosity=dropped',
  ],
  [
    'functions, custom tools with a grammar and namespaces become tools',
    {
      tools: [
        f,
        { type: 'custom', name: 'p', description: 'Patches', format: grammar },
        { type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'spawn' }] },
      ],
    },
    {
      tools: [
        canonicalF,
        {
          name: 'p',
          description: 'Patches\n\nIts input must follow this lark grammar:\nstart: "x"',
          input_schema: canonicalText,
        },
        { name: 'agents__spawn', input_schema: { type: 'object', properties: {} } },
      ],
    },
  ],
  [
    'tools in input items become tools',
    { input: [hi, { type: 'additional_tools', role: 'developer', tools: [f] }] },
    { tools: [canonicalF] },
  ],
  [
    'a choice of a tool in a namespace becomes its name',
    {
      tools: [{ type: 'namespace', name: 'n', tools: [f] }],
      tool_choice: { type: 'function', namespace: 'n', name: 'f' },
      parallel_tool_calls: false,
    },
    {
      tools: [{ ...canonicalF, name: 'n__f' }],
      tool_choice: { type: 'tool', name: 'n__f', disable_parallel_tool_use: true },
    },
  ],
  [
    'only allowed tools are sent',
    {
      tools: [f, { ...f, name: 'g' }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
    },
    { tools: [canonicalF], tool_choice: { type: 'auto' } },
  ],
  [
    'M10: a web search becomes Anthropic’s own',
    { tools: [{ type: 'web_search', filters: { allowed_domains: ['a.example'] } }] },
    { tools: [{ type: 'web_search_20250305', name: 'web_search', allowed_domains: ['a.example'] }] },
  ],
  [
    'tools that coding agents always send are dropped and recorded',
    { tools: [{ type: 'image_generation' }, { type: 'web_search', external_web_access: false }] },
    {},
    'tools.0=dropped, tools.1=dropped',
  ],
  [
    'fields without an equivalent are recorded',
    {
      store: true,
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      truncation: 'auto',
      metadata: { a: 'b' },
    },
    {},
    'include.1=dropped, store=not_kept, truncation=dropped',
  ],
]

for (const [guarantee, request, expected, listed] of settings) {
  test(guarantee, () => {
    const { body, degraded } = convert(request)
    assert.deepEqual(body, { model: 'm', stream: true, messages: [user], ...expected })
    assert.equal(degraded, listed)
  })
}

test('M10: a web search is dropped and recorded if the upstream has none', () => {
  const { body, degraded } = convert({ tools: [{ type: 'web_search' }] }, { provider: 'openrouter' })
  assert.deepEqual([body['tools'], degraded], [undefined, 'tools.0=dropped'])
})

const refused: readonly (readonly [object, RegExp])[] = [
  [{ previous_response_id: 'resp_1' }, /^previous_response_id is not supported/],
  [{ conversation: 'conv_1' }, /^conversation is not supported/],
  [{ background: true }, /^background must be false/],
  [{ input: [{ type: 'item_reference', id: 'x' }] }, /^input\.0: item references are not supported/],
  [{ input: ['hi'] }, /^input\.0 must be an object/],
  [{ input: [{ id: 'x' }] }, /^input\.0\.type is required/],
  [{ input: [{ role: 'robot', content: 'x' }] }, /^input\.0\.role/],
  [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] }, /^input\.0\.content\.0\.file_id/],
  [{ input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, /^input\.0\.content\.0\.type input_audio/],
  [{ input: [{ type: 'function_call', name: 'f' }] }, /^input\.0 must have a call_id/],
  [{ input: [{ type: 'function_call_output', output: 'x' }] }, /^input\.0\.call_id/],
  [{ tools: {} }, /^tools must be an array/],
  [{ tools: [{ type: 'function' }] }, /^tools\.0\.name/],
  [{ tools: [{ type: 'file_search' }] }, /^tools\.0\.type file_search/],
  [{ tools: [f], tool_choice: { type: 'code_interpreter' } }, /^tool_choice\.type code_interpreter/],
]

for (const [request, message] of refused) {
  test(`a request is rejected with its field: ${message.source}`, () => {
    assert.throws(
      () => convert(request),
      error => error instanceof AppError && error.code === 'invalid_request' && message.test(error.message),
    )
  })
}
