import type { WholeEchoes } from '../../platform/echoes.ts'
import { AnswerRecord } from '../body-log/answer-record.ts'
import type { Call } from '../core/call.ts'
import type { Gateway } from '../gateway.ts'
import { type CallContent, contentOf, hasContent } from './call-content.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'call'>
  /** Returns the filter for the credentials of the configured providers. */
  readonly echoes: () => WholeEchoes
  /** Receives how to read the content of a call that starts; `end` is called after the call. Undefined: no content. */
  readonly observe: ObserveContent | undefined
}

/** May call `read` once the answer has ended, also later. */
export type ObserveContent = (requestId: string, read: () => CallContent) => { readonly end: () => void }

/** Offers the content of model calls to an observer. Does not change or delay the answer. */
export function observedContent({ gateway, echoes, observe }: Deps): Pick<Gateway, 'call'> {
  if (!observe) return gateway
  return {
    async call(call: Call, sink) {
      if (!hasContent(call)) return gateway.call(call, sink)
      const answer = new AnswerRecord(sink)
      const observed = observe(call.requestId, () => contentOf(call, answer.recorded(), echoes()))
      try {
        return await gateway.call(call, answer)
      } finally {
        observed.end()
      }
    },
  }
}
