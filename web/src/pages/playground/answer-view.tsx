import { parseJson } from '../../data/json.ts'
import { CodeBlock, JsonBlock } from '../../parts/code.tsx'
import { Markdown } from '../../parts/markdown.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './playground.module.css'
import type { Answer, AnswerBlock } from './wire/answer.ts'

interface Props {
  readonly answer: Answer
  readonly isRunning: boolean
}

/** An answer as it arrives. Its text becomes Markdown once it is complete. */
export function AnswerView({ answer: { blocks }, isRunning }: Props) {
  return (
    <div className={css.answer}>
      {blocks
        .map((block, at) => ({ block, at }))
        .map(({ block, at }) => (
          <BlockView key={at} block={block} isRunning={isRunning} />
        ))}
    </div>
  )
}

function BlockView({ block, isRunning }: { readonly block: AnswerBlock; readonly isRunning: boolean }) {
  switch (block.kind) {
    case 'text':
      return <TextView text={block.text} citations={block.citations ?? []} isRunning={isRunning} />
    case 'thinking':
      return (
        <details className={css.fold}>
          <summary>Thinking</summary>
          <p className={css.plain}>
            <SafeText text={block.text === '' ? 'The provider does not show it.' : block.text} />
          </p>
        </details>
      )
    case 'tool':
      return (
        <div>
          <span className={css.blockTitle}>
            Call of <SafeText text={block.name} />
          </span>
          <CodeBlock text={pretty(block.input)} what="arguments" />
        </div>
      )
    case 'other':
      return (
        <details className={css.fold}>
          <summary>
            <SafeText text={block.value.type} />
          </summary>
          <JsonBlock value={block.value} what="block" />
        </details>
      )
  }
}

interface TextProps {
  readonly text: string
  readonly citations: readonly unknown[]
  readonly isRunning: boolean
}

function TextView({ text, citations, isRunning }: TextProps) {
  return (
    <>
      {isRunning ? (
        <p className={css.plain}>
          <SafeText text={text} />
        </p>
      ) : isJson(text) ? (
        <CodeBlock text={pretty(text)} what="answer" maxLines={40} />
      ) : (
        <Markdown text={text} />
      )}
      {citations.length > 0 && (
        <details className={css.fold}>
          <summary>{citations.length} citations</summary>
          <JsonBlock value={citations} what="citations" />
        </details>
      )}
    </>
  )
}

const isJson = (text: string): boolean => /^\s*[[{]/.test(text) && parseJson(text).problem === undefined

/** Indents complete JSON; the pieces of a running call stay as they are. */
function pretty(text: string): string {
  const { value, problem } = parseJson(text)
  return problem !== undefined || value === undefined ? text : JSON.stringify(value, null, 2)
}
