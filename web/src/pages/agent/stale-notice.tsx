import { Button, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ProblemLine } from '../../parts/page-state.tsx'
import css from './agent.module.css'
import { ServerChanges } from './change-list.tsx'
import { versionDiffQuery } from './queries.ts'
import type { Editing } from './use-draft.ts'

interface Props {
  readonly editing: Editing
  readonly onDiscard?: () => void
}

/** Another person has saved while this one edits: shows what they changed, and the choices. */
export function StaleNotice({ editing, onDiscard }: Props) {
  const { agent, baseVersion, rebase, discard } = editing
  const [isShown, setShown] = useState(false)
  const range = { from: baseVersion, to: agent.version }
  const { data, error } = useQuery({ ...versionDiffQuery(agent.id, range), enabled: isShown })
  return (
    <div className={css.conflict} role="alert">
      <p>
        Version {agent.version} was saved while you edited version {baseVersion}. Your changes are not saved yet.
      </p>
      <Group gap="sm">
        <Button variant="default" onClick={() => setShown(!isShown)}>
          {isShown ? 'Hide their changes' : 'Show their changes'}
        </Button>
        <Button onClick={rebase}>Put mine on top</Button>
        <Button
          variant="subtle"
          color="red"
          onClick={() => {
            discard()
            onDiscard?.()
          }}
        >
          Discard mine
        </Button>
      </Group>
      {isShown && (data ? <ServerChanges changes={data.changes} /> : <ProblemLine error={error} />)}
    </div>
  )
}
