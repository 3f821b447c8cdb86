import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { oneOf, useAddress } from '../../../../parts/address.ts'
import { Empty, Loading, ProblemBlock } from '../../../../parts/page-state.tsx'
import css from '../inspector.module.css'
import type { InspectorProps } from '../inspector-props.ts'
import { Artifacts } from './artifacts.tsx'
import { Changes } from './changes.tsx'
import files from './files.module.css'
import { checkpointsQuery } from './queries.ts'
import { Workspace } from './workspace.tsx'

const views = ['workspace', 'artifacts', 'changes'] as const

const titles = [
  { value: 'workspace', label: 'Workspace' },
  { value: 'artifacts', label: 'Artifacts' },
  { value: 'changes', label: 'Changes' },
]

/** The files of the session: its workspace, what runs have written, and what changed between two checkpoints. */
export function FilesTab({ sessionId }: InspectorProps) {
  const [{ files: wanted }, setAddress] = useAddress<'files' | 'path'>()
  const shown = oneOf(wanted, views)
  const { data, error, refetch } = useQuery(checkpointsQuery(sessionId))
  if (error && !data) return <ProblemBlock error={error} what="load the files" retry={() => void refetch()} />
  if (!data) return <Loading />
  if (data.data.length === 0) {
    return (
      <Empty title="No files yet" link={<a href="/docs">API reference</a>}>
        Each step of a run that changes files stores them. They appear here.
      </Empty>
    )
  }
  return (
    <div className={css.scroller}>
      <SegmentedControl
        className={files.views}
        size="xs"
        fullWidth
        aria-label="Files to show"
        data={titles}
        value={shown}
        onChange={next => setAddress({ files: next === views[0] ? undefined : next, path: undefined })}
      />
      {shown === 'workspace' && <Workspace sessionId={sessionId} checkpoints={data.data} />}
      {shown === 'artifacts' && <Artifacts sessionId={sessionId} checkpoints={data.data} />}
      {shown === 'changes' && <Changes sessionId={sessionId} checkpoints={data.data} />}
    </div>
  )
}
