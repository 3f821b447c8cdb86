// The Claude Agent SDK, which starts Claude Code: a turn as its variables specify, each message printed as a line.
import { readFile } from 'node:fs/promises'
import { query } from '@anthropic-ai/claude-agent-sdk'

const { URL: url, KEY: key, MODEL: model } = process.env

async function* messages() {
  yield JSON.parse(await readFile('message.jsonl', 'utf8'))
}

const answers = query({
  prompt: messages(),
  options: {
    model,
    allowedTools: ['Bash'],
    env: { ...process.env, ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key },
  },
})
for await (const message of answers) console.log(JSON.stringify(message))
