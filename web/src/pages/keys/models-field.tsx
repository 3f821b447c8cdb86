import { Stack, TagsInput, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { modelNames } from '../../data/lists.ts'
import { plural } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { matchesOf } from './key-draft.ts'
import type { FieldsProps } from './key-fields.ts'
import { listOf } from './key-sentence.ts'

/** Names of models and beginnings with `*`, each with the models that it matches now. */
export function ModelsField({ draft, set, errorAt }: FieldsProps) {
  const { data: names, error } = useQuery(modelNames)
  const providers = [
    ...new Set((names ?? []).filter(name => name.includes('/')).map(name => `${name.split('/')[0]}/*`)),
  ]
  const patterns = draft.models.filter(entry => entry.endsWith('*') || (names && !names.includes(entry)))
  return (
    <Stack gap={4}>
      <TagsInput
        label="Models"
        description="Names, or a prefix and a star, such as anthropic/*. Empty: every model, also later ones"
        placeholder={draft.models.length === 0 ? 'every model' : ''}
        data={[...providers, ...(names ?? [])]}
        limit={50}
        maxDropdownHeight={240}
        splitChars={[',', ' ']}
        acceptValueOnBlur
        value={[...draft.models]}
        onChange={models => set({ models })}
        error={errorAt('models')}
      />
      {names &&
        patterns.map(entry => {
          const found = matchesOf(entry, names)
          return (
            <Text key={entry} size="xs" c="dimmed">
              <SafeText text={entry} />{' '}
              {found.length === 0
                ? 'matches no model now'
                : `matches ${plural(found.length, 'model')}: ${listOf(found)}`}
            </Text>
          )
        })}
      {error && (
        <Text size="xs" c="dimmed">
          Cannot load the names of models, so matches are not shown
        </Text>
      )}
    </Stack>
  )
}
