import { onceKey } from '../../../data/once-key.ts'
import { type Answer, contentOf } from './answer.ts'
import { type Turn, textOf } from './form.ts'

/** Returns the turns with an answer after them, and a turn of the user for what comes next: results of its calls, a text. */
export function turnsAfter(turns: readonly Turn[], answer: Answer): readonly Turn[] {
  const content = contentOf(answer)
  const results = content
    .filter(({ type }) => type === 'tool_use')
    .map(block => ({ type: 'tool_result', tool_use_id: textOf(block['id']), content: '' }))
  return [
    ...turns.filter(turn => turn.content.length > 0),
    { id: onceKey(), role: 'assistant', content },
    { id: onceKey(), role: 'user', content: results },
  ]
}
