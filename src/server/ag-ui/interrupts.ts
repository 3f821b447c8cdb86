import type { Interrupt } from './events.ts'
import type { ThreadCall } from './thread-calls.ts'

/** The answer to an interrupt, as clients build a form for it. */
const responseSchema = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    reason: { type: 'string', description: 'Why the call is denied; the model reads it' },
    editedArgs: { type: 'object', description: 'Replaces all arguments of the call' },
  },
  required: ['approved'],
}

const maxShownChars = 500

/** Returns the interrupt of a call that asks for approval. Its id is that of the approval. */
export function interruptOf({ id, name, input }: ThreadCall): Interrupt {
  const text = JSON.stringify(input ?? {})
  const shown = text.length > maxShownChars ? `${text.slice(0, maxShownChars)}…` : text
  return { id, reason: 'tool_call', message: `Allow ${name} ${shown}?`, toolCallId: id, responseSchema }
}
