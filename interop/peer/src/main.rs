//! `interop-peer HOST:PORT PROMPTS QUIET_SECONDS` follows every pool of a relay with the reference's
//! own view until nothing has come for so long, then prints a JSON object for each pool and for each
//! prompt.
//!
//! PROMPTS holds one JSON list of token ids a line. A pool's line has `dc_id`, `sequence`, `deltas`,
//! `images` and `words_xxh3`; a prompt's has `depths` by data center. Whatever the view refuses ends
//! the program.
use std::collections::BTreeMap;
use std::time::Duration;

use dynamo_kv_router::identity::{
    CacheSemanticsId, DcId, IdentitySource, IndexerDomainId, PoolId, RoutingScopeId,
};
use dynamo_kv_router::indexer::cuckoo::*;
use dynamo_kv_router::protocols::{BlockHashOptions, compute_block_hash_for_seq};
use serde_json::json;
use tokio::time::timeout;

mod wire {
    tonic::include_proto!("dynamo.kvrelay.v1");
}
use wire::kv_event_relay_client::KvEventRelayClient;

const CONTRACT_MARKER: u32 = u32::from_be_bytes(*b"KVR1");
const SUBSCRIBER: &str = "interop-peer";
const CBI1_HEADER: usize = 48;
const CHUNK_PREFIX: usize = 16;
const DELTA_PREFIX: usize = 12;
const IMAGE: usize = 12;
const CONSUMER: u64 = 1;

fn u32_le(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))
}

fn u64_le(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"))
}

fn digest(id: &Option<wire::DigestIdentity>) -> ([u8; 16], IdentitySource) {
    let id = id.as_ref().expect("a digest identity");
    let source = match id.source() {
        wire::IdentitySource::Explicit => IdentitySource::Explicit,
        wire::IdentitySource::DefaultDerived => IdentitySource::DefaultDerived,
        wire::IdentitySource::Unspecified => panic!("no identity source"),
    };
    (id.digest.as_slice().try_into().expect("a digest of 16 bytes"), source)
}

/// The same identity in the crate's own types.
fn translate(producer: &wire::ProducerIdentity) -> ProducerIdentity {
    let pool = producer.pool_id.as_ref().expect("a pool id");
    let domain = pool.indexer_domain.as_ref().expect("an indexer domain");
    let (semantics, semantics_source) = digest(&domain.cache_semantics);
    let (scope, scope_source) = digest(&domain.routing_scope);
    let domain = IndexerDomainId::new(
        CacheSemanticsId::new(semantics, semantics_source),
        RoutingScopeId::new(scope, scope_source),
    );
    let shape = producer.ckf_format.as_ref().expect("a filter format");
    ProducerIdentity::new(
        PoolId::new(domain, DcId::new(pool.dc_id)),
        producer.producer_incarnation,
        producer.layout_generation,
        format(shape.bucket_count as usize, shape.seed),
    )
}

/// The crate hands formats out with states only: make the state whose filter has that many buckets.
fn format(buckets: usize, seed: u64) -> DcCkfFormatIdentity {
    let mut blocks = 1;
    loop {
        let mut config = CkfConfig::new(blocks);
        config.seed = seed;
        match config.bucket_count().expect("a filter size") {
            found if found == buckets => return DcCkfState::new(config).expect("a state").format(),
            found if found > buckets => panic!("no configuration has {buckets} buckets"),
            _ => blocks *= 2,
        }
    }
}

/// One pool: its lane of the view, and the words as they came, next to it.
struct Follower {
    lane: GlobalCkfLaneIngestor,
    producer: ProducerIdentity,
    lease: LaneLease,
    words: Vec<u64>,
    sequence: Option<u64>,
    deltas: u64,
    images: u64,
}

impl Follower {
    fn apply(&mut self, update: &wire::FilterUpdate) {
        match update.kind() {
            wire::FilterUpdateKind::SnapshotChunk => self.chunk(update),
            wire::FilterUpdateKind::Delta => self.delta(update),
            wire::FilterUpdateKind::Heartbeat => assert_eq!(Some(update.sequence), self.sequence),
            wire::FilterUpdateKind::Unspecified => panic!("a frame of kind {}", update.kind),
        }
    }

    fn chunk(&mut self, update: &wire::FilterUpdate) {
        let body = &update.payload[CBI1_HEADER..];
        let (index, count) = (u32_le(body), u32_le(&body[4..]));
        let offset = u64_le(&body[8..]) as usize;
        for (i, word) in body[CHUNK_PREFIX..].chunks_exact(8).enumerate() {
            self.words[offset + i] = u64_le(word);
        }
        if index + 1 == count {
            let image = self.words.clone().into_boxed_slice();
            let snapshot = GlobalCkfSnapshot::new(self.producer, self.lease, update.sequence, image);
            let outcome = self.lane.install_snapshot(&snapshot);
            let installed = matches!(outcome, GlobalCkfIngestOutcome::SnapshotInstalled { .. });
            assert!(installed, "the view refused a snapshot: {outcome:?}");
            self.sequence = Some(update.sequence);
        }
    }

    fn delta(&mut self, update: &wire::FilterUpdate) {
        let body = &update.payload[CBI1_HEADER..];
        let count = u32_le(&body[8..]) as usize;
        let images: Vec<_> = body[DELTA_PREFIX..]
            .chunks_exact(IMAGE)
            .map(|image| (u32_le(image) as usize, u64_le(&image[4..])))
            .collect();
        assert_eq!(images.len(), count, "images of a delta");
        for &(bucket, word) in &images {
            self.words[bucket] = word;
        }
        let changed = images.iter().map(|&(b, w)| GlobalCkfBucketImage::new(b, w)).collect();
        let (base, to) = (update.base_sequence, update.sequence);
        let delta = GlobalCkfDelta::new(self.producer, self.lease, base, to, changed);
        let outcome = self.lane.apply_delta(&delta);
        let applied = matches!(outcome, GlobalCkfIngestOutcome::DeltaApplied { .. });
        assert!(applied, "the view refused the delta {base} to {to}: {outcome:?}");
        self.sequence = Some(to);
        self.deltas += 1;
        self.images += count as u64;
    }

    fn describe(&self, dc_id: u64) -> serde_json::Value {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let digest = xxhash_rust::xxh3::xxh3_64(&bytes);
        json!({"dc_id": dc_id, "sequence": self.sequence, "deltas": self.deltas,
               "images": self.images, "words_xxh3": format!("{digest:016x}")})
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, prompts, quiet] = arguments.as_slice() else {
        eprintln!("usage: interop-peer HOST:PORT PROMPTS QUIET_SECONDS");
        std::process::exit(2);
    };
    let quiet = Duration::from_secs_f64(quiet.parse().expect("QUIET_SECONDS is a number"));
    let prompts = std::fs::read_to_string(prompts).expect("PROMPTS can be read");

    let mut client = KvEventRelayClient::connect(format!("http://{address}"))
        .await
        .expect("the relay can be reached")
        .max_decoding_message_size(8 << 20);
    let request = wire::WatchKvPoolCatalogRequest {
        subscriber_id: SUBSCRIBER.into(),
        contract_marker: CONTRACT_MARKER,
    };
    let mut catalog = client.watch_kv_pool_catalog(request).await.expect("a catalog").into_inner();
    let catalog = catalog.message().await.expect("a catalog").expect("a first message");
    let pools = catalog.snapshot.expect("a snapshot").pools;

    let producers: Vec<_> =
        pools.iter().map(|pool| translate(pool.producer.as_ref().expect("a producer"))).collect();
    let mut lanes = [None; 16];
    for (lane, producer) in producers.iter().enumerate() {
        lanes[lane] = Some(producer.pool_id());
    }
    let first = producers.first().expect("a pool in the catalog");
    let consumer = ConsumerInstanceId::new(CONSUMER);
    let manifest =
        GlobalCkfManifest::new(consumer, first.indexer_domain(), first.format(), lanes)
            .expect("pools of one domain and format");
    let view = GlobalCkfIndexer::new(manifest, PrefixSearchConfig::default()).expect("a view");

    let mut tasks = Vec::new();
    for (lane, pool) in pools.iter().enumerate() {
        let lease = LaneLease::new(consumer, lane as u8, 1);
        let mut ingestor = view.claim_lane(lane).expect("a free lane");
        ingestor.assign(producers[lane], lease).expect("an assignable lane");
        let request = wire::SubscribeKvPoolRequest {
            subscriber_id: SUBSCRIBER.into(),
            expected_producer: pool.producer.clone(),
            contract_marker: CONTRACT_MARKER,
        };
        let mut stream = client.subscribe_kv_pool(request).await.expect("a stream").into_inner();
        let mut follower = Follower {
            lane: ingestor,
            producer: producers[lane],
            lease,
            words: vec![0; producers[lane].format().bucket_count()],
            sequence: None,
            deltas: 0,
            images: 0,
        };
        tasks.push(tokio::spawn(async move {
            while let Ok(message) = timeout(quiet, stream.message()).await {
                follower.apply(&message.expect("no error").expect("no end of the stream"));
            }
            follower
        }));
    }
    // The lanes live as long as their followers.
    let mut followers = Vec::new();
    for task in tasks {
        followers.push(task.await.expect("a follower that did not panic"));
    }
    let dc_id = |lane: usize| {
        let producer = pools[lane].producer.as_ref().expect("a producer");
        producer.pool_id.as_ref().expect("a pool id").dc_id
    };
    for (lane, follower) in followers.iter().enumerate() {
        println!("{}", follower.describe(dc_id(lane)));
    }
    let block = pools[0].query_semantics.as_ref().expect("query semantics").kv_block_size;
    for line in prompts.lines() {
        let tokens: Vec<u32> = serde_json::from_str(line).expect("a list of token ids");
        let hashes = compute_block_hash_for_seq(&tokens, block, BlockHashOptions::default());
        let found = view.find_prefix_matches(&hashes).expect("a ready lane");
        let depths: BTreeMap<String, Option<u32>> = (0..pools.len())
            .map(|lane| {
                let depth = found.lanes()[lane].as_ref().map(|entry| entry.prefix_depth());
                (dc_id(lane).to_string(), depth)
            })
            .collect();
        println!("{}", json!({ "depths": depths }));
    }
}
