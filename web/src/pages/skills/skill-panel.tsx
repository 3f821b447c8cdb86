import { Button, Group, SegmentedControl, Stack, Title } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Skill } from '../../../../src/contract/skills.ts'
import { client } from '../../data/client.ts'
import { routes } from '../../data/routes.ts'
import { skillsKey } from '../../data/skills.ts'
import { useSubmit } from '../../data/submit.ts'
import { CodeBlock } from '../../parts/code.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { plural } from '../../parts/format.ts'
import { Markdown } from '../../parts/markdown.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { showProblem } from '../../parts/notices.ts'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { fileNameOf, saveFile } from '../../parts/save-file.ts'
import { SidePanel } from '../../parts/side-panel.tsx'
import { copyCountsQuery, skillQuery } from './queries.ts'
import { SkillAgents } from './skill-agents.tsx'
import { SkillForm } from './skill-form.tsx'
import css from './skills.module.css'

interface Props {
  readonly id: string
  readonly isEditing: boolean
  readonly onEdit: (isOn: boolean) => void
  readonly onClose: () => void
}

/** A skill beside the library: its text, and the agents that have it. */
export function SkillPanel({ id, isEditing, onEdit, onClose }: Props) {
  const queries = useQueryClient()
  const { data: skill, error, refetch } = useQuery(skillQuery(id))
  const [isDeleting, setDeleting] = useState(false)
  const total = useQuery(copyCountsQuery).data?.bySkill.get(id)?.total ?? 0
  const refresh = () => queries.invalidateQueries({ queryKey: skillsKey })
  return (
    <SidePanel
      title={skill?.name ?? 'Skill'}
      onClose={onClose}
      actions={
        skill &&
        !isEditing && (
          <MayChange>
            <Button variant="default" onClick={() => onEdit(true)}>
              Edit skill
            </Button>
            <Button variant="subtle" color="red" onClick={() => setDeleting(true)}>
              Delete skill…
            </Button>
          </MayChange>
        )
      }
    >
      {error ? (
        <ProblemBlock error={error} what="load the skill" retry={() => void refetch()} />
      ) : !skill ? (
        <Loading />
      ) : isEditing ? (
        <SkillForm
          initial={skill}
          action="Save skill"
          onSave={async ({ name, description, content }) => {
            await client.skills.update({ params: { skill_id: id }, body: { name, description, content } })
            await refresh()
            onEdit(false)
          }}
          onCancel={() => onEdit(false)}
        />
      ) : (
        <Details skill={skill} onChanged={refresh} />
      )}
      {skill && (
        <Confirm
          isOpen={isDeleting}
          onClose={() => setDeleting(false)}
          question={`Delete skill ${skill.name}?`}
          consequence={
            total === 0
              ? 'It leaves the library. No agent has it.'
              : `It leaves the library. ${plural(total, 'agent')} ${total === 1 ? 'keeps its copy, which' : 'keep their copies, which'} cannot be updated any more.`
          }
          action="Delete skill"
          run={async () => {
            await client.skills.remove({ params: { skill_id: id } })
            onClose()
            // The deleted skill is not loaded again while its panel closes.
            await queries.invalidateQueries({
              queryKey: skillsKey,
              predicate: ({ queryKey }) => !queryKey.includes(id),
            })
          }}
        />
      )}
    </SidePanel>
  )
}

/** Saves the folder of a skill, with its SKILL.md and the other files. */
function Download({ skill: { id, name } }: { readonly skill: Skill }) {
  const { isRunning, send } = useSubmit(async () => {
    try {
      const archive = await client.open(routes.skillArchive, { params: { skill_id: id } })
      saveFile(fileNameOf(name, 'zip'), await archive.arrayBuffer(), 'application/zip')
    } catch (error) {
      showProblem('download the skill', error)
      throw error
    }
  })
  return (
    <Button
      variant="default"
      size="compact-xs"
      leftSection={<IconDownload size={14} aria-hidden />}
      loading={isRunning}
      onClick={() => void send()}
    >
      Download
    </Button>
  )
}

interface DetailsProps {
  readonly skill: Skill
  readonly onChanged: () => Promise<void>
}

function Details({ skill, onChanged }: DetailsProps) {
  const [isSource, setSource] = useState(false)
  return (
    <Stack gap="md">
      {skill.description !== null && <SafeText text={skill.description} />}
      <Facts
        of={[
          ['Created', <Time key="created" at={skill.created_at} />],
          ['Id', <Id key="id" id={skill.id} what="skill id" />],
        ]}
      />
      <div>
        <Group justify="space-between" mb={4}>
          <Title order={3}>Instructions</Title>
          <Group gap="sm">
            <Download skill={skill} />
            <SegmentedControl
              aria-label="How to show the instructions"
              size="xs"
              data={[
                { value: 'preview', label: 'Preview' },
                { value: 'source', label: 'Source' },
              ]}
              value={isSource ? 'source' : 'preview'}
              onChange={value => setSource(value === 'source')}
            />
          </Group>
        </Group>
        {isSource ? (
          <CodeBlock text={skill.content} what="instructions" />
        ) : (
          <div className={css.preview}>
            <Markdown text={skill.content} />
          </div>
        )}
      </div>
      <SkillAgents skill={skill} onChanged={onChanged} />
    </Stack>
  )
}
