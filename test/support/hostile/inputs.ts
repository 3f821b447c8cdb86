import assert from 'node:assert/strict'
import type { Attack } from './attack.ts'
import { call, type Scene } from './scene.ts'

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
const frame = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

/** Frames of an answer that calls `read` with this text as its arguments. */
const callFrames = (id: string, json: string): string[] => [
  frame('message_start', {
    message: {
      ...{ id: 'msg_deep', type: 'message', role: 'assistant', model: 'scripted', content: [] },
      ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
    },
  }),
  frame('content_block_start', { index: 0, content_block: { type: 'tool_use', id, name: 'read', input: {} } }),
  frame('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: json } }),
  frame('content_block_stop', { index: 0 }),
  frame('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 5 } }),
  frame('message_stop', {}),
]

const million = 1_000_000

const rawArguments = [
  ['5 MB', JSON.stringify({ file_path: 'x'.repeat(5 * million) })],
  ['1,000 levels', nested(1_000)],
  ['200,000 levels', nested(200_000)],
  ['100,000 members', JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at])))],
  ['600,000 values', `{"file_path":[${'0,'.repeat(600_000)}0]}`],
] as const

/** Attacks with the form of calls: huge, deep, and of wrong types. */
export async function inputAttacks(scene: Scene): Promise<Attack[]> {
  const free = (await scene.newAgent({ name: 'Clumsy' })).id
  const attack = (name: string, tool: string, input: unknown): Attack => ({
    name,
    async run() {
      const { result } = await scene.run(free, [call(tool, input, 'toolu_odd')])
      assert.equal(result('toolu_odd')?.isError, true, result('toolu_odd')?.text.slice(0, 1_000))
    },
  })
  return [
    ...rawArguments.map(
      ([what, json]): Attack => ({
        name: `arguments of ${what}`,
        async run() {
          const { result } = await scene.run(free, [{ frames: callFrames('toolu_raw', json) }])
          assert.equal(result('toolu_raw')?.isError, true, result('toolu_raw')?.text.slice(0, 1_000))
        },
      }),
    ),
    attack('prototype keys', 'read', JSON.parse('{"__proto__":{"file_path":"alive"},"constructor":{"prototype":{}}}')),
    attack('a path of 1 MB', 'write', { file_path: 'x/'.repeat(million / 2), content: 'x' }),
    attack('a NUL and a lone surrogate in a path', 'write', { file_path: 'a\0\ud800', content: 'x' }),
    attack('a list in place of a path', 'read', { file_path: ['a', 'b'] }),
    attack('arguments that are a list', 'bash', [{ command: 'echo x' }]),
    attack('arguments that are a text', 'bash', 'echo x'),
    {
      name: 'a pattern that backtracks',
      async run() {
        await scene.run(free, [
          call('write', { file_path: 'long', content: `${'a'.repeat(50_000)}b` }),
          call('grep', { pattern: '^(a+)+$' }),
          call('glob', { pattern: `${'*a'.repeat(40)}b` }),
        ])
      },
    },
    attack('a name of 10,000 letters', 'x'.repeat(10_000), {}),
    attack('a name with a line break', 'bash\ndata: {}', { command: 'echo x' }),
    {
      name: 'a limit of time beyond the maximum',
      async run() {
        const { result } = await scene.run(free, [
          call('bash', { command: 'echo x', timeout_ms: 10 ** 15 }, 'toolu_long'),
          call('bash', { command: 'echo x', timeout_ms: -1 }, 'toolu_negative'),
        ])
        assert.deepEqual([result('toolu_long')?.isError, result('toolu_negative')?.isError], [true, true])
      },
    },
    {
      name: '500 calls in a turn',
      async run() {
        const tool_calls = Array.from({ length: 500 }, (_, at) => ({
          id: `toolu_${at}`,
          name: 'read',
          input: { file_path: `f${at}` },
        }))
        const { events } = await scene.run(free, [{ tool_calls }])
        const results = events.filter(({ type }) => type === 'agent.tool_result')
        assert.equal(results.filter(event => event.is_error).length, 500)
      },
    },
    {
      name: 'calls without an id, and with one that is too long',
      async run() {
        const tool_calls = ['', 'x'.repeat(million), '\0', "'; drop table approvals; --"].map(id => ({
          id,
          name: 'read',
          input: { file_path: 'x' },
        }))
        await scene.run(free, [{ tool_calls }])
      },
    },
  ]
}
