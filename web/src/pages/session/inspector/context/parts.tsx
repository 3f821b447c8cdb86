import { UnstyledButton } from '@mantine/core'
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { useState } from 'react'
import type { ContextPart, ContextTool } from '../../../../../../src/contract/contexts.ts'
import { CodeBlock } from '../../../../parts/code.tsx'
import { count } from '../../../../parts/format.ts'
import { SafeText } from '../../../../parts/safe-text.tsx'
import { toolName } from '../../../../session-log/tool-text.ts'
import css from './context.module.css'

const titles: Readonly<Record<ContextPart['kind'], string>> = {
  system: 'Instructions of the agent',
  skill: 'Skill',
  environment: 'Notes about files and time zone',
  memories: 'Memories',
  application: 'Of the application',
  failed_tools: 'Tools that are missing',
  output_schema: 'Format of the answer',
  prompt: 'Prompt',
}

/** The texts before the conversation, in the order of the request. */
export function Parts({ parts }: { readonly parts: readonly ContextPart[] }) {
  if (parts.length === 0) return <p className="soft">No texts</p>
  return (
    <ul className={css.parts}>
      {parts.map(part => (
        <Fold
          key={`${part.kind}:${part.source_id}`}
          title={part.name === null ? titles[part.kind] : `${titles[part.kind]}: ${part.name}`}
          tokens={part.estimated_tokens}
          text={part.text}
        />
      ))}
    </ul>
  )
}

/** The tools that the model gets, with their descriptions and schemas. */
export function Tools({ tools }: { readonly tools: readonly ContextTool[] }) {
  const shown = tools.filter(({ is_shown: isShown }) => isShown)
  if (shown.length === 0) return <p className="soft">No tools</p>
  return (
    <ul className={css.parts}>
      {shown.map(tool => (
        <Fold
          key={`${tool.mcp_server}.${tool.name}`}
          title={toolName({ name: tool.name, server: tool.mcp_server ?? undefined })}
          tokens={tool.estimated_tokens}
          text={textOfTool(tool)}
        />
      ))}
    </ul>
  )
}

const textOfTool = ({ description, input_schema: schema }: ContextTool): string =>
  `${description}\n\n${JSON.stringify(schema, null, 2)}`

interface FoldProps {
  readonly title: string
  readonly tokens: number
  readonly text: string
}

function Fold({ title, tokens, text }: FoldProps) {
  const [isOpen, setOpen] = useState(false)
  const Chevron = isOpen ? IconChevronDown : IconChevronRight
  return (
    <li>
      <UnstyledButton className={css.part} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Chevron size={14} aria-hidden />
        <span className="clip">
          <SafeText text={title} />
        </span>
        <span className={`${css.tokens} soft numbers`}>{count(tokens)} tokens</span>
      </UnstyledButton>
      {isOpen && <CodeBlock text={text} what="text" maxLines={60} />}
    </li>
  )
}
