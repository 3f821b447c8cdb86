import type { PromptPartWrite } from '../../../../../src/contract/prompts.ts'
import { client } from '../../../data/client.ts'
import { routes } from '../../../data/routes.ts'
import type { Prompt } from '../../../session-log/view.ts'

export interface Rerun {
  readonly sessionId: string
  readonly prompt: Prompt
  readonly model: string
  /** Another version of the agent; undefined keeps that of the session. */
  readonly version: { readonly agentId: string; readonly version: number } | undefined
  readonly title: string
  /** The same for each try, so that a repeated try creates one session. */
  readonly onceKey: string
}

/** Forks a session before a prompt, on another model or version, and sends the prompt to the fork. Returns its id. */
export async function rerunPrompt({ sessionId, prompt, model, version, title, onceKey }: Rerun): Promise<string> {
  const parts = await partsOf(sessionId, prompt)
  const { id } = await client.sessions.fork(
    {
      params: { session_id: sessionId },
      body: {
        messageID: prompt.id,
        model,
        title: title.slice(0, 200),
        ...(version && { agent_id: version.agentId, version: version.version }),
      },
    },
    { idempotencyKey: `${onceKey}-fork` },
  )
  await client.sessions.promptAsync(
    { params: { session_id: id }, body: { model: { modelID: model }, parts } },
    { idempotencyKey: `${onceKey}-prompt` },
  )
  return id
}

/** The log names the files of a prompt; their content is in the workspace. */
const partsOf = (sessionId: string, { content }: Prompt): Promise<PromptPartWrite[]> =>
  Promise.all(
    content.map(async (part): Promise<PromptPartWrite> => {
      if (part.type === 'text') return { type: 'text', text: part.text }
      const { name, media_type, path } = part
      const response = await client.open(routes.file, { params: { session_id: sessionId, path } })
      return { type: 'file', name, media_type, data: base64Of(new Uint8Array(await response.arrayBuffer())) }
    }),
  )

const chunk = 32_768

function base64Of(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += chunk) binary += String.fromCharCode(...bytes.subarray(at, at + chunk))
  return btoa(binary)
}
