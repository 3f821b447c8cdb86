import { toolCallId } from '../tool-names.ts'

interface Call {
  readonly id: string
  readonly name: string
  isAnswered: boolean
}

/** The calls of a conversation. Clients may leave out ids, so that only names and order say which result is whose. */
export interface Calls {
  /** Takes down a call; its id, made up from its place when it has none. */
  add(name: string, given: string | undefined, place: string): string
  /** The call that a result answers; undefined when there is none. */
  answeredBy(name: string | undefined, given: string | undefined): string | undefined
}

export function createCalls(): Calls {
  const calls: Call[] = []
  const firstOpen = (name: string | undefined): Call | undefined =>
    calls.find(call => !call.isAnswered && call.name === name)
  return {
    add(name, given, place) {
      const wanted = toolCallId(given ?? `call_${place}`)
      // Two calls of one id would leave one of them without its result.
      const id = calls.some(call => call.id === wanted) ? toolCallId(`${wanted}_${place}`) : wanted
      calls.push({ id, name, isAnswered: false })
      return id
    },
    answeredBy(name, given) {
      const named = given === undefined ? undefined : calls.find(({ id }) => id === toolCallId(given))
      const call = named ?? firstOpen(name)
      if (call) call.isAnswered = true
      return call?.id
    },
  }
}
