import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEveryProtocol } from '../support/every-protocol.ts'
import { aliasOf, everyProtocol } from '../support/spoken-protocols.ts'
import { clientShell } from './shell.ts'

const summary = 'SUMMARY: it is sunny in Paris.'

/** The first answer fills the window, so that Codex compacts the conversation before it goes on. */
const { service, upstreams } = await startEveryProtocol({
  script({ rawBody }) {
    const body = rawBody.toString()
    // The first is Codex's own order, the second the gateway's.
    if (/CONTEXT CHECKPOINT COMPACTION|Summarize the conversation so far/.test(body)) return { text: summary }
    if (body.includes(summary)) return { text: 'The work is done.' }
    const call = { name: 'exec_command', input: { cmd: "printf 'sunny in %s' Paris" } }
    return { text: 'Looking.', tool_calls: [call], usage: { input_tokens: 300_000, output_tokens: 20 } }
  },
})

const provider = `-c model_provider=gateway \\
        -c "model_providers.gateway={name='gateway',base_url='$URL/v1',env_key='KEY',wire_api='responses'}"`

/** Both ways to point Codex at the gateway: it compacts in its own way, or asks as it asks OpenAI. */
const ways = [
  { name: 'with the gateway as a provider', settings: provider },
  { name: 'with openai_base_url', settings: `-c "openai_base_url='$URL/v1'"` },
]

for (const { name, settings } of ways) {
  for (const protocol of everyProtocol.filter(each => each !== 'openai-responses')) {
    test(`Codex ${name} compacts a conversation on a model that speaks ${protocol}`, async () => {
      const { run } = await clientShell()
      const before = upstreams[protocol].requests.length
      const { code, stdout, stderr } = await run(
        `export CODEX_HOME=$HOME/codex CODEX_API_KEY=$KEY
        mkdir $CODEX_HOME
        codex exec --json --skip-git-repo-check -s workspace-write -m $MODEL \\
          -c model_context_window=400000 -c model_auto_compact_token_limit=200000 ${settings} \\
          'What is the weather?'`,
        { URL: service.url, KEY: service.key, MODEL: aliasOf(protocol) },
      )
      assert.equal(code, 0, `${stdout}\n${stderr}\n${service.logs()}`)
      assert.match(stdout, /The work is done\./)
      const [, compaction, last, ...others] = upstreams[protocol].requests
        .slice(before)
        .map(({ rawBody }) => rawBody.toString())
      assert.match(compaction ?? '', /sunny in Paris/)
      assert.ok(last?.includes(summary), 'the summary stands for the conversation')
      assert.ok(!last?.includes('Looking.'), 'which is gone')
      assert.equal(others.length, 0)
    })
  }
}
