import type { NewEvent } from '../../../src/contract/events.ts'

/** The text of an event with content. */
export const textOf = (event: NewEvent | undefined): string | undefined =>
  (event?.content as { text: string }[] | undefined)?.[0]?.text

/** The texts of the events of one type. */
export const textsOf = (log: readonly NewEvent[], type: string): (string | undefined)[] =>
  log.filter(event => event.type === type).map(textOf)

/** The texts of the messages of the agent. */
export const messagesIn = (log: readonly NewEvent[]): (string | undefined)[] => textsOf(log, 'agent.message')
