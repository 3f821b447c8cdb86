import { useEffect, useRef, useState } from 'react'
import type { Status } from '../../session-log/status.ts'
import { textOf } from '../../session-log/tool-text.ts'
import type { View } from '../../session-log/view.ts'
import { statusText } from './header/status-text.ts'

const maxSpoken = 400

/** Speaks finished messages and changes of the state to screen readers, never the pieces of a message. */
export function Announcer({ view, status }: { readonly view: View; readonly status: Status }) {
  const [spoken, setSpoken] = useState('')
  const before = useRef({ seq: -1, word: status.word })
  useEffect(() => {
    const { seq, word } = before.current
    const { lastSeq } = view.log
    before.current = { seq: lastSeq, word: status.word }
    // What was there when the page opened is read, not announced.
    if (seq <= 0) return
    const { word: said, detail } = statusText(status)
    const news = messagesSince(view, seq)
    if (word !== status.word) news.push([said, detail].filter(Boolean).join(': '))
    if (news.length > 0) setSpoken(news.join('. '))
  }, [view, status])
  return (
    <div className="visually-hidden" aria-live="polite" data-testid="announcer">
      {spoken}
    </div>
  )
}

function messagesSince({ log }: View, seq: number): string[] {
  const messages: string[] = []
  for (let place = log.count - 1; place >= 0; place -= 1) {
    const event = log.at(place)
    if (!event || event.seq <= seq) break
    if (event.type === 'agent.message') messages.unshift(textOf(event.content).slice(0, maxSpoken))
  }
  return messages
}
