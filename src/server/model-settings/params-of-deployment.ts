import { isDeepStrictEqual } from 'node:util'
import type { ModelParamName } from '../../contract/model-params.ts'
import type { Deployment } from '../config/deployments.ts'
import { defaultTimeouts } from '../config/providers.ts'
import { paramsOfPrices } from '../config/token-price-params.ts'
import { compact } from '../platform/json.ts'

/** Returns the parameters of a deployment without defaults. `timeouts` has the values of the two timeouts in seconds. */
export function paramsOf(deployment: Deployment): Record<string, unknown> {
  const {
    provider,
    upstreamModel,
    protocols,
    apiBase,
    apiKey,
    headers,
    weight,
    timeouts,
    prices,
    unitPrices,
    baseModel,
    capabilities,
    aws,
    google,
  } = deployment
  const params: Readonly<Record<Exclude<ModelParamName, 'timeout' | 'stream_timeout'>, unknown>> = {
    model: `${provider}/${upstreamModel}`,
    base_model:
      baseModel && (baseModel.provider === provider ? baseModel.model : `${baseModel.provider}/${baseModel.model}`),
    capabilities: capabilities && capabilityParams(capabilities),
    protocol: protocols.length === 1 ? protocols[0] : undefined,
    protocols: protocols.length === 1 ? undefined : protocols,
    api_base: apiBase,
    api_key: apiKey,
    headers: Object.keys(headers).length > 0 ? headers : undefined,
    weight: weight === 1 ? undefined : weight,
    timeouts: isDeepStrictEqual(timeouts, defaultTimeouts) ? undefined : timeoutParams(timeouts),
    rpm: deployment.rpm,
    tpm: deployment.tpm,
    max_parallel: deployment.maxParallel,
    ...paramsOfPrices(prices),
    input_cost_per_character: unitPrices?.character,
    input_cost_per_second: unitPrices?.second,
    output_cost_per_image: unitPrices?.image,
    input_cost_per_query: unitPrices?.query,
    web_search_cost_per_query: deployment.searchPrice,
    batch_api: deployment.batchApi,
    batch_price_factor: deployment.batchPriceFactor,
    log_bodies:
      deployment.logBodiesUntilMs === undefined
        ? undefined
        : { until: new Date(deployment.logBodiesUntilMs).toISOString() },
    aws_region_name: aws?.region,
    aws_access_key_id: aws?.accessKeyId,
    aws_secret_access_key: aws?.secretAccessKey,
    aws_session_token: aws?.sessionToken,
    vertex_project: google?.project,
    vertex_location: google?.location,
    vertex_credentials: google?.serviceAccount?.clientEmail,
    cache: deployment.cacheTtlMs ? { ttl: `${deployment.cacheTtlMs / 1_000}s` } : undefined,
    deny: deployment.deny,
  }
  return compact(params)
}

const capabilityParams = (given: NonNullable<Deployment['capabilities']>) =>
  compact({
    reasoning: given.reasoning,
    vision: given.vision,
    pdf_input: given.pdfInput,
    function_calling: given.functionCalling,
    context_window: given.contextWindow,
    max_output_tokens: given.maxOutput,
  })

const timeoutParams = ({ connectMs, firstByteMs, idleMs, totalMs }: Deployment['timeouts']) => ({
  connect_ms: connectMs,
  first_byte_ms: firstByteMs,
  idle_ms: idleMs,
  total_ms: totalMs,
})
