import { Type } from 'typebox'
import type { ErrorCode } from './error-codes.ts'
import { named } from './named.ts'

export const AwsError = named('AwsError', Type.Object({ message: Type.String() }))

const types: Partial<Record<ErrorCode, string>> = {
  invalid_request: 'ValidationException',
  payload_too_large: 'ValidationException',
  unauthorized: 'UnrecognizedClientException',
  forbidden: 'AccessDeniedException',
  not_found: 'ResourceNotFoundException',
  rate_limited: 'ThrottlingException',
  budget_exceeded: 'ServiceQuotaExceededException',
  overloaded: 'ServiceUnavailableException',
  unavailable: 'ServiceUnavailableException',
  upstream_timeout: 'ModelTimeoutException',
  upstream_unreachable: 'ModelErrorException',
}

/** Error type of AWS, in the header `x-amzn-errortype`. Source: Bedrock Runtime, "Common Errors". */
export const awsErrorType = (code: ErrorCode): string => types[code] ?? 'InternalServerException'
