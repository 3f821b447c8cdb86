import { markerScript } from '../upstream/marker-script.ts'
import type { Answer } from '../upstream/scripted-answer.ts'
import type { Recorded } from '../upstream/scripted-upstream.ts'

const usage = { input_tokens: 8_214, output_tokens: 412, cache_read_input_tokens: 6_100 }
const call = (name: string, input: object): NonNullable<Answer['tool_calls']>[number] => ({ name, input })

const clock = `export const now = (): Date => new Date()

export function isExpired(token: { readonly expiresAt: Date }): boolean {
  return token.expiresAt < new Date()
}
`

/** Answers of the model to the prompts of a full service, one per model call. */
export const stories = {
  'Fix the flaky login test': [
    {
      thinking: 'The test fails only at night, so it probably depends on the clock.',
      text: 'I read the code that the test covers first.',
      tool_calls: [
        call('write', { file_path: 'src/clock.ts', content: clock }),
        call('bash', { command: 'cat src/clock.ts' }),
      ],
      usage,
    },
    {
      text: 'The expiry compares with the **system clock**. I pass the time in.',
      tool_calls: [
        call('edit', {
          file_path: 'src/clock.ts',
          old_string: 'return token.expiresAt < new Date()',
          new_string: 'return token.expiresAt < now()',
        }),
        call('bash', { command: 'for n in 1 2 3; do echo "login test, run $n: passed"; done' }),
      ],
      usage: { ...usage, input_tokens: 9_870, output_tokens: 288 },
    },
    {
      text: [
        'The test no longer depends on the clock of the machine.',
        '',
        '| File | Change |',
        '|---|---|',
        '| `src/clock.ts` | `isExpired` reads the time from `now` |',
        '',
        'Three runs passed.',
      ].join('\n'),
      usage: { ...usage, input_tokens: 10_402, output_tokens: 96 },
    },
  ],
  'Tidy up the old releases': [
    {
      text: 'Two releases are older than a year.',
      tool_calls: [call('bash', { command: 'rm -rf releases/2024' })],
      usage,
    },
    { text: 'Both are removed.', usage },
  ],
  'Watch the deployment': [
    { text: 'I wait until it is up.', tool_calls: [call('bash', { command: 'echo waiting; sleep 900' })], usage },
    { text: 'It is up.', usage },
  ],
  'Summarise the incident': [{ status: 400, error: 'prompt is too long: 214,803 tokens > 200,000 maximum' }],
  'לסכם את הדוח השבועי': [{ text: 'הדוח מוכן. שלוש משימות הושלמו ואחת נדחתה לשבוע הבא.', usage }],
  'Count everything': [
    {
      text: 'There are 9,007,199,254,740,991 entries.',
      usage: { input_tokens: 987_654_321, output_tokens: 123_456_789, cache_read_input_tokens: 999_999_999 },
    },
  ],
} satisfies Readonly<Record<string, readonly Answer[]>>

interface Message {
  readonly role: string
  readonly content: unknown
}

/** Plays the stories; other prompts as the script with markers does. */
export function storyScript(recorded: Recorded): Answer {
  const messages = (recorded.body['messages'] ?? []) as readonly Message[]
  for (const [prompt, answers] of Object.entries(stories)) {
    const at = messages.findLastIndex(
      ({ role, content }) => role === 'user' && JSON.stringify(content).includes(prompt),
    )
    if (at < 0) continue
    const calls = messages.slice(at).filter(({ role }) => role === 'assistant').length
    return answers[Math.min(calls, answers.length - 1)] ?? {}
  }
  return markerScript(recorded)
}
