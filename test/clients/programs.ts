import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FeatureOfTurn, Target } from './driver.ts'
import { clientShell } from './shell.ts'

/** A command line that runs a turn by itself. One turn tries everything that it can do. */
export interface Program {
  readonly can: readonly FeatureOfTurn[]
  /** The call of one of its tools that runs a shell command. */
  call(command: string): { readonly name: string; readonly input: object }
  /** Runs a turn; what it printed. Throws when it fails. */
  turn(target: Target, prompt: string, png: string): Promise<string>
  /** The same with a context that its conversation has to be compacted for; absent where the program never does that. */
  compacted?(target: Target, prompt: string, png: string): Promise<string>
}

interface Start extends Omit<Program, 'turn' | 'compacted'> {
  /**
   * Finds the target in `URL`, `KEY` and `MODEL`, the prompt in `PROMPT` and in prompt.txt, the image in image.png, and both as
   * a message of Anthropic's in message.jsonl.
   */
  readonly script: string
}

const program = ({ script, ...others }: Start): Program => ({
  ...others,
  async turn({ url, key, model }, prompt, png) {
    const { work, run } = await clientShell()
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }
    const message = { role: 'user', content: [image, { type: 'text', text: prompt }] }
    await writeFile(join(work, 'image.png'), Buffer.from(png, 'base64'))
    await writeFile(join(work, 'message.jsonl'), `${JSON.stringify({ type: 'user', message })}\n`)
    const env = { URL: url, KEY: key, MODEL: model, PROMPT: prompt, SDK: join(import.meta.dirname, 'sdk') }
    const { code, stdout, stderr } = await run(script, env)
    assert.equal(code, 0, `it ended with ${code}: ${`${stderr}\n${stdout}`.slice(-500)}`)
    return stdout
  },
})

const everything = ['stream', 'tools', 'reasoning', 'image'] as const
const withBash = (command: string) => ({ name: 'Bash', input: { command, description: 'Prints the weather' } })

export const claudeAgentSdk = program({
  can: everything,
  call: withBash,
  script: `cp "$SDK/claude-agent-sdk.mjs" . && node claude-agent-sdk.mjs`,
})

export const claudeCode = program({
  can: everything,
  call: withBash,
  script: `export ANTHROPIC_BASE_URL=$URL ANTHROPIC_AUTH_TOKEN=$KEY
    claude -p --model $MODEL --allowedTools Bash --verbose \\
      --input-format stream-json --output-format stream-json < message.jsonl`,
})

const codexTurn = (settings: string) =>
  program({
    can: everything,
    call: command => ({ name: 'exec_command', input: { cmd: command } }),
    script: `export CODEX_HOME=$HOME/codex CODEX_API_KEY=$KEY
      mkdir $CODEX_HOME
      codex exec --json --skip-git-repo-check -s workspace-write ${settings} -m $MODEL --image=image.png "$PROMPT"`,
  })

const smallContext = '-c model_context_window=400000 -c model_auto_compact_token_limit=200000'
const codex = (settings: string): Program => ({
  ...codexTurn(settings),
  compacted: codexTurn(`${settings} ${smallContext}`).turn,
})

export const codexProvider = codex(
  `-c model_provider=gateway -c "model_providers.gateway={name='gateway',base_url='$URL/v1',env_key='KEY',wire_api='responses'}"`,
)
export const codexBaseUrl = codex(`-c "openai_base_url='$URL/v1'"`)

/** It quotes a prompt of the command line, but not one of its input. */
export const opencode = program({
  can: everything,
  call: command => ({ name: 'bash', input: { command, description: 'Prints the weather' } }),
  script: `cat > opencode.json <<END
    { "provider": { "gateway": { "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "$URL/v1", "apiKey": "$KEY" },
      "models": { "$MODEL": { "reasoning": true, "attachment": true, "options": { "reasoningEffort": "high" },
        "modalities": { "input": ["text", "image"], "output": ["text"] } } } } } }
END
    echo "$PROMPT" | opencode run --format json --thinking --auto -m gateway/$MODEL --file image.png`,
})

const withShellCommand = (command: string) => ({
  name: 'run_shell_command',
  input: { command, is_background: false },
})

export const geminiCli = program({
  can: everything,
  call: withShellCommand,
  script: `mkdir ~/.gemini
    echo '{"security": {"auth": {"selectedType": "gemini-api-key"}}}' > ~/.gemini/settings.json
    export GOOGLE_GEMINI_BASE_URL=$URL GEMINI_API_KEY=$KEY
    gemini --skip-trust --yolo -m $MODEL -p "@image.png $PROMPT"`,
})

/** On a busy machine it loses what a command prints right before its end. */
export const qwenCode = program({
  can: everything,
  call: command => withShellCommand(`${command}; sleep 0.5`),
  script: `mkdir ~/.qwen
    echo '{"model": {"generationConfig": {"modalities": {"image": true}, "extra_body": {"reasoning_effort": "high"}}}}' \\
      > ~/.qwen/settings.json
    export OPENAI_BASE_URL=$URL/v1 OPENAI_API_KEY=$KEY
    qwen --auth-type openai --yolo -o stream-json -m $MODEL "@image.png $PROMPT"`,
})

/** Without a terminal it takes no images and shows no reasoning. */
export const continueCli = program({
  can: ['stream', 'tools'],
  call: command => ({ name: 'Bash', input: { command } }),
  script: `cat > continue.yaml <<END
name: gateway
version: 1.0.0
schema: v1
models:
  - { name: gateway, provider: openai, model: $MODEL, apiBase: $URL/v1, apiKey: $KEY, roles: [chat], capabilities: [tool_use] }
END
    cn --auto --config continue.yaml -p "$PROMPT"`,
})
