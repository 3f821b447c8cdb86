/** Commands that connect one client. */
export interface ConnectText {
  readonly client: string
  /** What the commands change, and what a person should know. */
  readonly note: string
  readonly text: string
}

interface Service {
  /** Origin of the service. */
  readonly address: string
  /** Key to write into the commands; a placeholder by default. */
  readonly apiKey?: string | undefined
}

/** Returns a text as one word of a shell. */
export const quoted = (text: string): string =>
  /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The first line of each block. */
const exported = ({ address, apiKey = 'sk-…' }: Service): string =>
  `export SWITCHYARD_URL=${quoted(address)} SWITCHYARD_KEY=${quoted(apiKey)}`

/** Returns the commands that let clients call models through this service. They are those of docs/clients.md. */
export function modelClients(service: Service & { readonly model: string }): readonly ConnectText[] {
  const { address, model } = service
  const first = exported(service)
  return [
    {
      client: 'Claude Code',
      note: 'Applies to this terminal.',
      text: `${first}
export ANTHROPIC_BASE_URL=$SWITCHYARD_URL ANTHROPIC_AUTH_TOKEN=$SWITCHYARD_KEY
claude --model ${quoted(model)}`,
    },
    {
      client: 'Codex',
      note: 'Stores the configuration in a separate folder, apart from yours.',
      text: `${first}
export CODEX_HOME=~/.codex-switchyard
mkdir -p $CODEX_HOME
cat > $CODEX_HOME/config.toml <<'END'
model = ${JSON.stringify(model)}
model_provider = "switchyard"

[model_providers.switchyard]
name = "Switchyard"
base_url = ${JSON.stringify(`${address}/v1`)}
env_key = "SWITCHYARD_KEY"
wire_api = "responses"
END
codex`,
    },
    {
      client: 'opencode',
      note: 'Writes opencode.json into the current folder, which opencode works in.',
      text: `${first}
cat > opencode.json <<'END'
${JSON.stringify(opencodeProvider(service), null, 2)}
END
opencode --model ${quoted(`switchyard/${model}`)}`,
    },
    {
      client: 'curl',
      note: 'Sends one message in the format of Anthropic.',
      text: `${first}
curl $SWITCHYARD_URL/v1/messages -H "x-api-key: $SWITCHYARD_KEY" -H 'content-type: application/json' \\
  -d ${quoted(JSON.stringify(firstMessage(model)))}`,
    },
    {
      client: 'TypeScript',
      note: 'Sends one message with the library of Anthropic. Needs Node.js 22.18 or newer.',
      text: `${first}
npm install @anthropic-ai/sdk
cat > hello.mts <<'END'
import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: process.env.SWITCHYARD_URL, apiKey: process.env.SWITCHYARD_KEY })
const message = await client.messages.create(${JSON.stringify(firstMessage(model))})
console.log(message.content)
END
node hello.mts`,
    },
    {
      client: 'Python',
      note: 'Sends one message with the library of Anthropic.',
      text: `${first}
pip install anthropic
cat > hello.py <<'END'
import os
from anthropic import Anthropic

client = Anthropic(base_url=os.environ["SWITCHYARD_URL"], api_key=os.environ["SWITCHYARD_KEY"])
message = client.messages.create(model=${JSON.stringify(model)}, max_tokens=500, messages=[{"role": "user", "content": "Hello"}])
print(message.content)
END
python3 hello.py`,
    },
  ]
}

const firstMessage = (model: string) => ({ model, max_tokens: 500, messages: [{ role: 'user', content: 'Hello' }] })

const opencodeProvider = ({ address, model }: Service & { readonly model: string }) => ({
  provider: {
    switchyard: {
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: `${address}/v1`, apiKey: '{env:SWITCHYARD_KEY}' },
      models: { [model]: {} },
    },
  },
})

interface McpService extends Service {
  /** Name of the server in the client. */
  readonly name: string
  /** Path of the server at this service: `/mcp/tickets`. */
  readonly path: string
}

/** Returns the commands that let clients use an MCP server through this service. */
export function mcpClients(service: McpService): readonly ConnectText[] {
  const { address, name, path } = service
  const first = exported(service)
  const opencode = {
    mcp: {
      [name]: {
        type: 'remote',
        url: `${address}${path}`,
        oauth: false,
        headers: { Authorization: 'Bearer {env:SWITCHYARD_KEY}' },
      },
    },
  }
  return [
    {
      client: 'Claude Code',
      note: 'Adds the server for you in this project. Claude Code stores the key in its settings.',
      text: `${first}
claude mcp add --transport http ${quoted(name)} "$SWITCHYARD_URL${path}" --header "Authorization: Bearer $SWITCHYARD_KEY"`,
    },
    {
      client: 'Codex',
      note: 'Codex reads the key from SWITCHYARD_KEY whenever it starts, so set the variable in your profile.',
      text: `${first}
codex mcp add ${quoted(name)} --url "$SWITCHYARD_URL${path}" --bearer-token-env-var SWITCHYARD_KEY`,
    },
    {
      client: 'opencode',
      note: 'Add this to opencode.json. opencode reads the key from SWITCHYARD_KEY whenever it starts.',
      text: JSON.stringify(opencode, null, 2),
    },
  ]
}
