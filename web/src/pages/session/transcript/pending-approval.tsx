import { useQuery, useQueryClient } from '@tanstack/react-query'
import { ApprovalCard } from '../../../parts/approval-card.tsx'
import { ProblemLine } from '../../../parts/page-state.tsx'
import { editsOf } from '../../../session-log/file-edits.ts'
import type { ToolCall } from '../../../session-log/view.ts'
import { approvalsQuery } from '../queries.ts'
import { useViewer } from '../selection.ts'
import { CallInput } from './tool-details.tsx'
import css from './transcript.module.css'

/** The card of a call that waits for a person. Digest and expiry come from the list of approvals. */
export function PendingApproval({ call }: { readonly call: ToolCall }) {
  const { sessionId, canEdit } = useViewer()
  const queries = useQueryClient()
  const query = approvalsQuery(call.threadId ?? sessionId)
  // A list from before this call does not have its approval.
  const { data, error, isFetching } = useQuery({ ...query, refetchOnMount: 'always' })
  const approval = data?.find(({ id, tool_use_id }) => id === call.key || tool_use_id === call.callId)
  const isMissing = data !== undefined && !approval
  const refetch = () => void queries.invalidateQueries({ queryKey: query.queryKey })
  if (error) return <ProblemLine error={error} />
  if (!approval) {
    return (
      <p className="soft">{isFetching || !isMissing ? 'Loading the approval' : 'Answered; the run continues soon'}</p>
    )
  }
  return (
    <div className={css.card}>
      <ApprovalCard
        approval={approval}
        canEdit={canEdit}
        preview={editsOf(call).length > 0 ? <CallInput call={call} /> : undefined}
        onAnswer={refetch}
      />
    </div>
  )
}
