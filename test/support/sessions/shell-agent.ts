import type { Agent } from '../../../src/contract/agents.ts'
import type { SessionEvent } from '../../../src/contract/events.ts'
import type { Session } from '../../../src/contract/sessions.ts'
import { send, type Target } from '../service/send.ts'
import { bash, saying } from '../upstream/scripted-service.ts'
import { followEvents } from './event-tail.ts'

/** What a call of the tool `bash` gave. */
export interface ShellResult {
  readonly text: string
  readonly isError: boolean
}

/** A function that lets the scripted model of a service run a command with the tool `bash`, in a new session each time. */
export async function shellAgent(service: Target): Promise<(command: string) => Promise<ShellResult>> {
  const made = await send(service, 'POST /api/agents', {
    body: { name: 'Shell', owner_id: 'shell', model: 'scripted' },
  })
  if (made.status >= 300) throw new Error(`POST /api/agents: ${made.status} ${made.text}`)
  const { id: agent_id } = made.json<Agent>()
  return async command => {
    const body = { agent_id, prompt: saying(bash(command), { text: 'done' }) }
    const answer = await send(service, 'POST /session', { body })
    if (answer.status >= 300) throw new Error(`POST /session: ${answer.status} ${answer.text}`)
    const tail = await followEvents(service, answer.json<Session>().id)
    try {
      const event = await tail.event(({ type }) => type === 'agent.tool_result' || type === 'session.error')
      if (event.type === 'session.error') throw new Error(JSON.stringify(event))
      return resultOf(event)
    } finally {
      tail.close()
    }
  }
}

const resultOf = (event: SessionEvent): ShellResult => ({
  text: ((event.content ?? []) as readonly { readonly text?: string }[]).map(({ text = '' }) => text).join(''),
  isError: event.is_error === true,
})
