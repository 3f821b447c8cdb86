import { CloseButton, Textarea } from '@mantine/core'
import { CodeBlock } from '../../parts/code.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { imageText } from './images.ts'
import css from './playground.module.css'
import { resultText } from './wire/content.ts'
import { type Block, textOf } from './wire/form.ts'

interface Props {
  readonly content: readonly Block[]
  readonly onChange: (content: readonly Block[]) => void
}

/** The parts of a turn other than its text. */
export function TurnBlocks({ content, onChange }: Props) {
  const others = content.map((block, at) => ({ block, at })).filter(({ block }) => block.type !== 'text')
  if (others.length === 0) return null
  return (
    <ul className={css.blocks}>
      {others.map(({ block, at }) => (
        <li key={at} className={css.block}>
          <div className={css.grow}>
            <BlockBody
              block={block}
              onChange={next => onChange(content.map((each, index) => (index === at ? next : each)))}
            />
          </div>
          <CloseButton
            size="xs"
            aria-label={`Remove ${titleOf(block)}`}
            onClick={() => onChange(content.filter((_, index) => index !== at))}
          />
        </li>
      ))}
    </ul>
  )
}

function BlockBody({ block, onChange }: { readonly block: Block; readonly onChange: (block: Block) => void }) {
  if (block.type === 'tool_result') {
    return (
      <Textarea
        label={
          <>
            Result of call <SafeText text={textOf(block['tool_use_id'])} />
          </>
        }
        value={resultText(block)}
        onChange={({ currentTarget }) => onChange({ ...block, content: currentTarget.value })}
        autosize
        minRows={1}
        maxRows={10}
      />
    )
  }
  if (block.type === 'tool_use') {
    return (
      <>
        <span className={css.blockTitle}>
          Call of <SafeText text={textOf(block['name'])} />
        </span>
        <CodeBlock text={JSON.stringify(block['input'], null, 2)} what="arguments" maxLines={6} />
      </>
    )
  }
  return (
    <span className={css.blockTitle}>
      <SafeText text={titleOf(block)} />
    </span>
  )
}

function titleOf(block: Block): string {
  switch (block.type) {
    case 'image':
      return imageText(block)
    case 'thinking':
    case 'redacted_thinking':
      return 'Thinking of the model'
    case 'tool_use':
      return `call of ${textOf(block['name'])}`
    case 'tool_result':
      return `result of call ${textOf(block['tool_use_id'])}`
    default:
      return `Block of type ${block.type}`
  }
}
