import { Button, FileButton, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Skill } from '../../../../src/contract/skills.ts'
import { client } from '../../data/client.ts'
import { skillsKey } from '../../data/skills.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { SkillForm } from './skill-form.tsx'

interface Props {
  readonly onClose: () => void
  readonly onMade: (skill: Skill) => void
}

const zip = /\.zip$/i

/** Sends a SKILL.md, or a zip archive of a folder with one. */
async function imported(file: File): Promise<Skill> {
  if (!zip.test(file.name)) return client.skills.import({ body: { text: await file.text() } })
  const form = new FormData()
  form.append('files[]', file, file.name)
  const { id } = await client.skillFolders.create({}, { form })
  return client.skills.get({ params: { skill_id: id } })
}

/** Adds a skill to the library: written here, or from a file. */
export function CreateSkill({ onClose, onMade }: Props) {
  const queries = useQueryClient()
  const done = async (skill: Skill) => {
    await queries.invalidateQueries({ queryKey: skillsKey })
    onMade(skill)
  }
  const importing = useMutation({ mutationFn: imported, onSuccess: done })
  return (
    <SidePanel
      title="Create skill"
      onClose={onClose}
      actions={
        <FileButton accept=".md,.zip,text/markdown,application/zip" onChange={file => file && importing.mutate(file)}>
          {props => (
            <Button variant="default" loading={importing.isPending} {...props}>
              Import SKILL.md or zip
            </Button>
          )}
        </FileButton>
      }
    >
      <Stack gap="md">
        <ProblemLine error={importing.error} />
        <SkillForm
          initial={{ name: '', description: null, content: '' }}
          action="Create skill"
          onSave={async fields => done(await client.skills.create({ body: fields }))}
          onCancel={onClose}
        />
      </Stack>
    </SidePanel>
  )
}
