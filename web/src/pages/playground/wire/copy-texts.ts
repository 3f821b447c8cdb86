import type { Fields } from '../../../data/json.ts'
import { quoted } from '../../../parts/connect-texts.ts'
import { type Format, listOf } from './form.ts'
import { pythonArguments } from './python-text.ts'
import { paths } from './request.ts'

/** Commands that send the request of a column. */
export interface CopyText {
  readonly language: string
  readonly note: string
  readonly text: string
}

interface Request {
  /** Origin of the service. */
  readonly address: string
  readonly format: Format
  readonly body: Fields
}

/** Returns the request as programs that a person can run as they are, once the key is filled in. */
export function copyTexts(request: Request): readonly CopyText[] {
  const { format } = request
  return [
    { language: 'curl', note: 'Prints the events of the answer as they arrive.', text: curl(request) },
    {
      language: 'TypeScript',
      note: `Uses the library ${npmPackages[format]}. Needs Node.js 22.18 or newer.`,
      text: typescript(request),
    },
    { language: 'Python', note: `Uses the library ${pythonPackages[format]}.`, text: python(request) },
  ]
}

const npmPackages: Readonly<Record<Format, string>> = {
  messages: '@anthropic-ai/sdk',
  chat: 'openai',
  responses: 'openai',
}
const pythonPackages: Readonly<Record<Format, string>> = { messages: 'anthropic', chat: 'openai', responses: 'openai' }

const exported = (address: string): string => `export SWITCHYARD_URL=${quoted(address)} SWITCHYARD_KEY=sk-…`

/** No line of it ends the text of a shell: strings of JSON have no line breaks. */
const json = (value: unknown): string => JSON.stringify(value, null, 2)

const curl = ({ address, format, body }: Request): string => `${exported(address)}
curl --silent --show-error --no-buffer "$SWITCHYARD_URL${paths[format]}" \\
  -H "Authorization: Bearer $SWITCHYARD_KEY" -H 'content-type: application/json' -d @- <<'END'
${json(body)}
END`

const typescript = ({ address, format, body }: Request): string => `${exported(address)}
npm install ${npmPackages[format]}
cat > playground.mts <<'END'
${typescriptPrograms[format](body)}
END
node playground.mts`

const python = ({ address, format, body }: Request): string => `${exported(address)}
python3 -m venv .venv
.venv/bin/pip install --quiet ${pythonPackages[format]}
cat > playground.py <<'END'
${pythonPrograms[format](body)}
END
.venv/bin/python playground.py`

type Program = (body: Fields) => string

const whenTools = ({ tools }: Fields, lines: string): string => (listOf(tools).length > 0 ? `${lines}\n` : '')

const openAiTypescript = `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: \`\${process.env.SWITCHYARD_URL}/v1\`, apiKey: process.env.SWITCHYARD_KEY })`

const typescriptPrograms: Readonly<Record<Format, Program>> = {
  messages: ({ stream: _, ...body }) => `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: process.env.SWITCHYARD_URL, apiKey: process.env.SWITCHYARD_KEY })
const stream = client.messages.stream(${json(body)})
stream.on('text', text => process.stdout.write(text))
const { content, stop_reason, usage } = await stream.finalMessage()
${whenTools(body, "console.log('\\n', content.filter(({ type }) => type === 'tool_use'))")}console.log('\\n', stop_reason, usage)`,

  chat: body => `${openAiTypescript}
const stream = await client.chat.completions.create(${json(body)})
for await (const { choices: [choice], usage } of stream) {
  process.stdout.write(choice?.delta.content ?? '')
${whenTools(body, "  if (choice?.delta.tool_calls) console.log('\\n', JSON.stringify(choice.delta.tool_calls))")}  if (usage) console.log('\\n', usage)
}`,

  responses: body => `${openAiTypescript}
const stream = await client.responses.create(${json(body)})
for await (const event of stream) {
  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta)
${whenTools(body, "  if (event.type === 'response.output_item.done' && event.item.type === 'function_call') console.log('\\n', event.item)")}  if (event.type === 'response.completed') console.log('\\n', event.response.usage)
}`,
}

const openAiPython = `import os
from openai import OpenAI

client = OpenAI(base_url=os.environ["SWITCHYARD_URL"] + "/v1", api_key=os.environ["SWITCHYARD_KEY"])`

const pythonPrograms: Readonly<Record<Format, Program>> = {
  messages: ({ stream: _, ...body }) => `import os
from anthropic import Anthropic

client = Anthropic(base_url=os.environ["SWITCHYARD_URL"], api_key=os.environ["SWITCHYARD_KEY"])
with client.messages.stream(
${pythonArguments(body, 'messages')}
) as stream:
    for text in stream.text_stream:
        print(text, end="", flush=True)
    message = stream.get_final_message()
print()
${whenTools(body, 'print([block for block in message.content if block.type == "tool_use"])')}print(message.stop_reason, message.usage)`,

  chat: body => `${openAiPython}
stream = client.chat.completions.create(
${pythonArguments(body, 'chat')}
)
for chunk in stream:
    for choice in chunk.choices:
        print(choice.delta.content or "", end="", flush=True)
${whenTools(body, '        if choice.delta.tool_calls:\n            print(choice.delta.tool_calls)')}    if chunk.usage:
        print()
        print(chunk.usage)`,

  responses: body => `${openAiPython}
stream = client.responses.create(
${pythonArguments(body, 'responses')}
)
for event in stream:
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)
${whenTools(body, '    if event.type == "response.output_item.done" and event.item.type == "function_call":\n        print(event.item)')}    if event.type == "response.completed":
        print()
        print(event.response.usage)`,
}
