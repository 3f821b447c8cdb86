import { Button, Stack, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { count } from '../../parts/format.ts'
import { MayChange } from '../../parts/may-change.tsx'
import css from './agent.module.css'
import { FoldedText } from './folded-text.tsx'
import { estimatedTokens, splitPrompt } from './prompt-blocks.ts'
import type { Editing } from './use-draft.ts'

/** Name, description and prompt. The blocks of skills are below the text that a person writes. */
export function PromptTab({ editing }: { readonly editing: Editing }) {
  const { draft, edit, errorAt } = editing
  const [isWhole, setWhole] = useState(false)
  const { own, skills } = splitPrompt(draft.system)
  const text = isWhole ? draft.system : own
  return (
    <Stack gap="md">
      <TextInput
        label="Name"
        value={draft.name}
        onChange={({ currentTarget }) => edit({ name: currentTarget.value })}
        error={draft.name.trim() === '' ? 'An agent needs a name' : errorAt('name')}
        maxLength={200}
        required
      />
      <TextInput
        label="Description"
        description="What it is for. Agents that call this one read it"
        value={draft.description ?? ''}
        onChange={({ currentTarget: { value } }) => edit({ description: value === '' ? null : value })}
        error={errorAt('description')}
      />
      <Textarea
        label={isWhole ? 'Prompt with skills' : 'Prompt'}
        description={`Instructions for each session · about ${count(estimatedTokens(text))} tokens`}
        value={text}
        onChange={({ currentTarget: { value } }) => edit({ system: isWhole ? value : value + skills })}
        error={errorAt('system')}
        autosize
        minRows={10}
        maxRows={36}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 12.5 } }}
      />
      {skills !== '' && (
        <div>
          {!isWhole && (
            <>
              <div className={css.changeName}>Skills follow the prompt</div>
              <FoldedText text={skills.trim()} className={css.text ?? ''} />
            </>
          )}
          <MayChange>
            <Button variant="subtle" size="compact-xs" onClick={() => setWhole(!isWhole)}>
              {isWhole ? 'Edit only the own text' : 'Edit the text of the skills here'}
            </Button>
          </MayChange>
        </div>
      )}
    </Stack>
  )
}
